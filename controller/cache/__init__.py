"""What we know of the cluster: objects as last seen, what they use, who waits, decisions sent and not yet seen back.

Fed by informers, read as a `Snapshot`. Nothing here awaits, so a snapshot is always of one moment. No requests.
"""
