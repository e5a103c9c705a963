"""Program 2, `python -m webhook`: what happens to a pod when it is created.

Pure: `review`, `patching`, `world`, `creators`, `steps`. Edge: `server`, `tls`, `runtime_classes`, `cluster_world`,
`app`. Uses what `controller` shares and no more.
"""
