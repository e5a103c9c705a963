"""Program 2, `python -m webhook`: what happens to a pod when it is created, and whether it may be updated.

Pure: `review`, `patching`, `world`, `creators`, `updates`, `steps`, `validation`. Edge: `server`, `tls`,
`live`, `runtime_classes`, `cluster_world`, `sources`, `metrics`, `app`. Uses what `controller` shares and no more.
"""
