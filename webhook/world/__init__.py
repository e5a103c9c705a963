"""What the webhook knows of a live cluster: kept by informers, and asked for where they may be behind.

What is changed where:

- what the webhook may ask the apiserver during a review: `webhook/world/live`
- what the webhook knows, and by which watch: `webhook/world/cluster`, `webhook/world/sources`
"""
