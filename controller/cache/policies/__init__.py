"""Policies of both kinds as they are kept, for the webhook and for their status, and who may use which.

What is changed where:

- what a policy's status says: `cache/policies/policy_book`, `runtime/status`
"""
