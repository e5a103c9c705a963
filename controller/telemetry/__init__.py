"""How both programs are observed: logs, metrics, health endpoints, Events. No decisions.

What is changed where:

- how many connections a port has, and for how long: `telemetry/connections`
- certificates that a program signs itself: `telemetry/authority`
- a metric: `telemetry/metrics`, `webhook/metrics`
"""
