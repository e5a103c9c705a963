"""How long pods run and when they end: what backfill, and whoever else looks ahead, knows of the future.

What is changed where:

- how long a pod is expected to run, and until when: `core/forecasts/runtimes`, `core/forecasts/run_history`; kept by
  `cache/forecasts/foresight`; whom nobody believes: `cache/forecasts/outruns`
- in which order what admitted pods hold is given back: `core/forecasts/expected_ends`
"""
