"""Program 2, `python -m webhook`: what happens to a pod when it is created, and whether it may be updated.

And what happens to a pod template when it is written.

Pure: `steps`, `checks`, and what they work with, `pods` and `reviews`. Edge: `server`, `world`, `trust`,
`metrics`, `app`. Uses what `controller` shares, no more.

What is changed where:

- what happens to a pod at create: a step in `webhook/steps/`, joined in `webhook/steps/chain.CHAIN`
- what is refused at create or update: a check in `webhook/checks/`, joined in `webhook/checks/chain`
- how the apiserver comes to trust it: `webhook/trust`; `controller/telemetry/shared_authority`
- who may connect to the webhook: `controller/telemetry/tls`; `config/components/network-policy`
"""
