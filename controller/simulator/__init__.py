"""Queues in virtual time: the product's own cache and `decide`, with a model of executor, nodes and Job owners.

Nothing here asks a cluster, and nothing reads a clock: the same world with the same seed comes to the same end.

What is changed where:

- what a simulation begins with: `simulator/world`; how a cache is filled with it: `simulator/filling`
- what happens when, and in which order: `simulator/simulated_cluster`
- when waiting pods start: `simulator/eta`; how long pods run: `simulator/runtimes`; who comes: `simulator/arrivals`,
  `simulator/traces`, `simulator/kueue_configs`
- what may be changed to see what comes of it: `simulator/changes`, `simulator/new_job`; how that is read:
  `simulator/variants`; what is compared: `simulator/measurements`, over time `simulator/timelines`,
  `simulator/comparing`; what programs and people see of it: `simulation_rows` of the room visibility,
  `cli/simulate_output`, and as a plot `cli/simulate_plot`
- what becomes of a pod that is admitted, ends or is evicted: `simulator/pod_states`, of its Job `simulator/owners`
"""
