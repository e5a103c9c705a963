"""Who may pass a blocked workload without delaying it, and when that one fits.

What is changed where:

- who may pass a blocked workload of a Backfill queue; when that one fits: `core/backfill/easy`,
  `core/ledgers/booked`; `core/backfill/earliest`
"""
