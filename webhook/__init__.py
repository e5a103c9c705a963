"""Program 2, `python -m webhook`: what happens to a pod when it is created, and to a pod template when it is written.

Pure: `review`, `template_review`, `patching`, `world`, `creators`, `steps`. Edge: `server`, `tls`, `runtime_classes`,
`app`. Uses what `controller` shares and no more.
"""
