"""`penstock demo`: two teams, two flavors, a few hundred pods, and how their queues drain, live.

In a sandbox of its own, or on a cluster that a kubeconfig names. Only shows what Penstock does; decides nothing.
"""
