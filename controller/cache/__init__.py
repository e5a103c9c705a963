"""What we know of the cluster: objects as last seen, what they use, who waits, decisions sent and not yet seen back.

Fed by informers, read as a `Snapshot`. Nothing here awaits, so a snapshot is always of one moment. No requests.

What is changed where:

- of whom it is told why they wait, and how often: `cache/asked`
- which kinds a decision rests on: `cache/kinds`; watched by `runtime/controller`, listed once by `replay/recording`
- what a policy's status says: `cache/policy_book`, `runtime/status`
"""
