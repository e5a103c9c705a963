"""What pods have used and what became of them, in a database beside the cluster.

The truth is in the cluster's objects, and no decision reads this: a database that is gone, full or slow costs history
and nothing else.

What is changed where:

- what is kept of a pod, and how it is read from one: `runs`; which pods have changed since the last write: `recorder`
- the tables, and how they change from one version to the next: `schema`; what is written and read: `store`
- sums over a time, in hours and money: `usage`; as a dataset that cost tools read: `focus`
- which runs there were: `finding`; what they used of what they asked for: `used`, `efficiency`
- what is asked: `wanted`; who reads it, and may not write: `reader`; rows for people: `run_rows`, `usage_rows`
- how far it is behind, for `penstock doctor`: `health`
"""
