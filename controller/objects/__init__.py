"""Our own objects, from what users write (`controller.api`) to what a decision or the webhook reads (`core`).

Conversion only: what is known of the cluster is kept in `controller.cache`.
"""
