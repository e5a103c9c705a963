"""An extension API server behind the aggregation layer of the apiserver: serves what exists in memory only.

Nothing that a client sends is kept: what is created is a question, as a SubjectAccessReview is.

Which resources there are is a value, `extension_api/resources.Resource`: nothing else here knows queues. What is
changed where:

- who is believed to be whom: `extension_api/front_proxy`; what they may see: `extension_api/authorization`
- what is sent, and how it is answered: `extension_api/bodies`, `extension_api/creating`
- the forms of an answer: `extension_api/encoding`, `extension_api/tables`; of a refusal: `extension_api/statuses`
- what clients learn of the resources: `extension_api/discovery`, `extension_api/openapi`
- how a path and its parameters are read: `extension_api/paths`, `extension_api/options`
- the certificate that is served, and who trusts it: `extension_api/certificates`, `telemetry/shared_authority`,
  `extension_api/registration`; when both are looked at again: `extension_api/trust`
"""
