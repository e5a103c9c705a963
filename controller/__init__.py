"""Penstock's controller, its command line, and what both share with the webhook."""
