"""How both programs are observed: logs, metrics, health endpoints, Events. No decisions.

What is changed where:

- how many connections a port has, and for how long: `telemetry/connections`
- a metric: `telemetry/metrics`, `webhook/metrics`
"""
