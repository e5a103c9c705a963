"""Program 2, `python -m webhook`: what happens to a pod when it is created, and whether it may be updated.

And what happens to a pod template when it is written.

Pure: `review`, `template_review`, `patching`, `world`, `creators`, `updates`, `steps`, `validation`. Edge: `server`,
`tls`, `live`, `runtime_classes`, `known_queues`, `cluster_world`, `sources`, `metrics`, `app`. Uses what `controller`
shares, no more.
"""
