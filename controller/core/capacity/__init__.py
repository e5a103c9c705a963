"""Which nodes are of a flavor, and what is free on them.

What is changed where:

- which of the nodes with room a pod gets; which of them a search keeps at hand: `core/capacity/room.pack`;
  `core/capacity/node_search`
"""
