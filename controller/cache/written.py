"""Our own objects as users wrote them, for their status; the decision reads the parsed forms in `cluster`."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.objects.read import Entry, Key


@dataclass(slots=True)
class Written:
    """Entries by kind, then by key."""

    flavors: dict[Key, Entry] = field(default_factory=dict)
    cluster_queues: dict[Key, Entry] = field(default_factory=dict)
    local_queues: dict[Key, Entry] = field(default_factory=dict)
    policies: dict[Key, Entry] = field(default_factory=dict)
    cluster_policies: dict[Key, Entry] = field(default_factory=dict)
    scheduling_policies: dict[Key, Entry] = field(default_factory=dict)
    workload_kinds: dict[Key, Entry] = field(default_factory=dict)
    priority_classes: dict[Key, Entry] = field(default_factory=dict)
