"""What we know of the cluster: objects as last seen, what they use, who waits, decisions sent and not yet seen back.

Fed by informers (`sinks`), read as a `Snapshot`. Nothing here awaits, so a snapshot is always of one moment. No
requests. `cluster` joins the rooms, each of which keeps one thing.

What is changed where:

- which kinds a decision rests on: `cache/kinds`; watched by `runtime/watches`, listed once by `replay/recording`
"""
