"""The certificate that the webhook makes itself, and the registrations by which the apiserver trusts it."""
