"""What the webhook knows of a live cluster: kept by informers, and asked for where they may be behind."""
