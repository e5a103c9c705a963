"""Changes that people can make so that a workload is admitted, each a value that can be tried on a snapshot.

What queues give: `amounts`. How they and other objects are set up: `setup`. Nodes: `nodes`. The workload itself:
`own`. Others that end, and time that passes: `waiting`. What they have in common: `change`.
"""
