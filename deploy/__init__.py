"""How Penstock is installed: the Helm chart, most of which is written from config/."""
