"""How both programs are observed: logs, metrics, health endpoints, Events. No decisions."""
