"""The only room that talks to the apiserver: connection, requests as bytes, list+watch, errors, decoding.

What is changed where:

- when a pod started and ended: `kube/decode_runs`
- where PodGroups of Kubernetes are looked for, and which versions: `kube/served`, `cache/kinds`
- who leads, and what a leader does: `kube/lease`, `runtime/app`; `runtime/controller`
"""
