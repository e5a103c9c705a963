"""Where a workload fits, and why nowhere: flavors, nodes, domains of a topology.

What is changed where:

- which flavors are not tried for pods that came back: `core/fitting/avoided`; learnt by `cache/timers/unschedulable`
- when a pod fits a flavor or node, and which node it gets: `core/fitting/placement`, `core/ledgers/ledger`,
  `core/capacity/node_index`; `core/capacity/room`
- in which domains the slices of a gang stand; where who is lacking from one goes: `core/fitting/slices`;
  `core/workloads/gang_slices`
- which flavor and nodes each set of a gang gets: `core/fitting/placement`, `core/capacity/room.pack`; why none:
  `core/fitting/shortages`, and of unlike pods `core/fitting/unlike_sets`
"""
