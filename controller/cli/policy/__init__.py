"""`penstock policy`: what policies do to pods, told to people before it happens.

The answers are the webhook's own: its pure steps run here on a World made of files, or of a cluster's lists. Nothing
here decides. This is the one part of `controller` that may import the webhook, and never its server, certificates or
composition root.
"""
