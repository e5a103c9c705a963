"""An extension API server behind the aggregation layer of the apiserver: serves what exists in memory only, read-only.

Which resources there are is a value, `extension_api/resources.Resource`: nothing else here knows queues. What is
changed where:

- who is believed to be whom: `extension_api/front_proxy`; what they may see: `extension_api/authorization`
- the forms of an answer: `extension_api/encoding`, `extension_api/tables`; of a refusal: `extension_api/statuses`
- what clients learn of the resources: `extension_api/discovery`, `extension_api/openapi`
- how a path and its parameters are read: `extension_api/paths`, `extension_api/options`
- the certificate that is served, and who trusts it: `extension_api/certificates`, `extension_api/registration`; when
  both are looked at again: `extension_api/trust`
"""
