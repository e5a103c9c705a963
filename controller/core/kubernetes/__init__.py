"""What Kubernetes itself defines, as values: quantities, labels, taints, nodes, owners, RuntimeClasses.

What is changed where:

- what a pod is charged: `core/kubernetes/demand`; beside and instead of what it requests:
  `core/kubernetes/quota_resources`, its file `objects/quota_resources`; by whom it is paid: `cache/usage/charging`
- when requirements contradict each other: `core/kubernetes/labels.contradictory_key`; beside a node selector:
  `core/kubernetes/node_terms.ConjoinedTerm`
- which texts are label keys, label values, names: `core/kubernetes/names`
- what a RuntimeClass adds to a pod; which nodes take it: `core/kubernetes/runtime_classes`;
  `core/kubernetes/class_nodes`
"""
