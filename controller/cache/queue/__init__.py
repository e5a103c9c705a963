"""What waits: in which order, why, for what, and the queues that it waits in, as they are now.

What is changed where:

- what other objects say of a pod's place in the order: `cache/queue/order_positions`; who stands behind one on top:
  `cache/queue/queue_top`; which classes a queue takes: `cache/queue/allowed_classes`
- when a gang is put together anew: `cache/queue/gangs`; whose places are kept: `cache/queue/kept_places`
- of whom it is told why they wait, and how often: `cache/queue/asked`; when a condition is written:
  `cache/queue/reasons`
- in which trees a decision looks for pods to preempt: `cache/queue/preemption_rounds`
- what queues come to now: `cache/queue/in_effect`; which LocalQueues lead where: `cache/queue/local_queue_index`
"""
