"""What pods use: what each is charged with, to whom, the sums of that, and what was used before.

What is changed where:

- by whom a pod is paid: `cache/usage/charging`; of which flavor it is that may run on several: `cache/usage/landing`
- what past usage is kept, and what of it a status says: `cache/usage/past_usage`, `cache/usage/usage_sums`
"""
