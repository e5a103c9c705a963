"""Program 2, `python -m webhook`: what happens to a pod when it is created.

Pure: `review`, `patching`, `world`, `steps`. Edge: `server`, `tls`, `app`. Uses what `controller` shares and no more.
"""
