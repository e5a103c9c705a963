"""What people and programs outside of the cluster are told of workloads and budgets, by HTTP.

No decision waits for it: notices are collected beside the decisions, and each receiver has a bounded queue of its own.

What is changed where:

- the file that says who is told what: `settings`
- which notices follow from what happens to pods: `workloads`; from what budgets have used: `budgets`
- what a notice says, in data and in words: `notices`
- how a notice is written for a receiver: `formats`
- the queue of a receiver, and when it tries again: `outbox`; one request and its answer: `posting`
- a message that only tries the way: `trial`
"""
