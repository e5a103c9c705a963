"""SchedulingPolicies: what the pods of an account must, may and by default do use of the ways to say where to run.

`policy` and `pod` are the values, `merging` makes one of many policies, `completion` adds to a pod, `judgement` judges
it, `levels` folds the modes into what a review answers. `rbac` says who may use which policy.

What is changed where:

- who may use a SchedulingPolicy: `core/scheduling_policies/rbac`, kept by `cache/policies/access`, merged by account in
  `webhook/world/account_policies`
"""
