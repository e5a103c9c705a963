"""Which texts Kubernetes takes as label keys, label values and names.

Mirrors k8s.io/apimachinery: `content.IsLabelKey`, `content.IsLabelValue`, `validation.IsDNS1123Label` and
`validation.IsDNS1123Subdomain`. Lengths are of ASCII: anything else is refused by the patterns anyway.
"""

from __future__ import annotations

import re
from typing import Final

LABEL_KEY_FORM: Final = (
    'an optional DNS prefix and "/", then at most 63 letters, digits, "-", "_" or ".", first and last a letter or digit'
)
LABEL_VALUE_FORM: Final = 'empty, or at most 63 letters, digits, "-", "_" or ".", first and last a letter or digit'
DNS_LABEL_FORM: Final = 'at most 63 lower case letters, digits or "-", first and last a letter or digit'
DNS_SUBDOMAIN_FORM: Final = (
    'at most 253 lower case letters, digits, "-" or ".", each part beginning and ending with a letter or digit'
)

DNS_LABEL_PATTERN: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_SUBDOMAIN_PATTERN: Final = rf"{DNS_LABEL_PATTERN}(\.{DNS_LABEL_PATTERN})*"
LABEL_NAME_PATTERN: Final = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LONGEST_SUBDOMAIN: Final = 253

_DNS_LABEL: Final = re.compile(DNS_LABEL_PATTERN)
_DNS_SUBDOMAIN: Final = re.compile(DNS_SUBDOMAIN_PATTERN)
_LABEL_NAME: Final = re.compile(LABEL_NAME_PATTERN)
_LONGEST_LABEL: Final = 63


def is_label_key(text: str) -> bool:
    """Say whether `text` is a label key, also called a qualified name."""
    prefix, slash, name = text.rpartition("/")
    return _LABEL_NAME.fullmatch(name) is not None and (not slash or is_dns_subdomain(prefix))


def is_label_value(text: str) -> bool:
    """Say whether `text` is a label value; empty is one."""
    return not text or _LABEL_NAME.fullmatch(text) is not None


def is_dns_label(text: str) -> bool:
    """Say whether `text` is a DNS label, such as a namespace's name."""
    return len(text) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Say whether `text` is a DNS subdomain, such as a pod's name."""
    return len(text) <= LONGEST_SUBDOMAIN and _DNS_SUBDOMAIN.fullmatch(text) is not None
