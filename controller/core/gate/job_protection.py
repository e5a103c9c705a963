"""Jobs that are held as a whole: which these are, and the rules that keep them held, and their stamps ours.

A Job with our queue's label of its own is created suspended, and only the release patch lets it begin. The rules have
the form of those in `protection`, with the same names where they say the same. `config/policy` says this in CEL, and
one table of requests holds both to it (`tests/integration/protection`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from controller.core.gate.job_growth import read_count
from controller.core.gate.kueue_labels import are_accepted
from controller.core.gate.protection import STAMPS, Actor, Rule, Texts, stamps_on
from controller.core.keys import (
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    DEFAULT_QUEUE,
    HOLD,
    HOLD_JOBS,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    ORIGINAL_TEMPLATE,
    QUEUE_NAME,
    RUN_TIME_LIMIT,
    WANTED_PARALLELISM,
)
from controller.core.workloads.held_sets import object_of_set

JOB_CONTROLLER: Final = "kubernetes.io/job-controller"
"""What `spec.managedBy` says of a Job that Kubernetes itself runs, as does nothing at all."""

MOST_PODS: Final = 99_999
"""A Job that is held as a whole keeps at most so many pods alive: room is looked for pod by pod."""

_NOBODY: Mapping[str, Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedJob:
    """What is guarded of a Job. `template` is the whole pod template, `managed_by` empty where the Job does not say."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    template: Mapping[str, Any] = field(default_factory=dict)
    is_suspended: bool = False
    parallelism: int = 1
    completions: int | None = None
    is_indexed: bool = False
    deadline: int = 0
    """Its own activeDeadlineSeconds; 0: none."""
    managed_by: str = ""
    has_started: bool = False
    """Of a stored Job: whether it runs, or has until a moment ago; until then its template can be changed."""

    @property
    def runs_here(self) -> bool:
        """Whether Kubernetes' own Job controller runs it; a Job of another is not held."""
        return self.managed_by in ("", JOB_CONTROLLER)

    @property
    def most(self) -> int:
        """How many of its pods ever live at the same time."""
        return self.parallelism if self.completions is None else min(self.parallelism, self.completions)

    @property
    def grows_by_index(self) -> bool:
        """Whether more pods at a time need more completions too, which the apiserver lets change together."""
        return self.is_indexed and self.completions == self.parallelism

    @property
    def queue(self) -> str | None:
        """The LocalQueue that the Job is held for as a whole; None for a Job that is not."""
        return self.labels.get(QUEUE_NAME) if self.runs_here else None

    @property
    def has_labels_of_template(self) -> bool:
        """Whether the queue on a new Job is its template's: of a Job without labels the apiserver makes them its own.

        (`SetDefaults_Job` of k8s.io/kubernetes/pkg/apis/batch/v1.) Of a stored Job the template has more labels.
        """
        return QUEUE_NAME in self.labels and self.labels == self.of_template.get("labels")

    @property
    def is_admitted(self) -> bool:
        """Whether it is charged, or its template is that of a release: until it is back in its queue.

        Other stamps may be on a Job that waits: of an attempt that was revoked, or of its last admission.
        """
        return CLUSTER_QUEUE in self.labels or ORIGINAL_TEMPLATE in self.annotations

    @property
    def is_part(self) -> bool:
        """Whether it was admitted with an object of a WorkloadKind: its template has the stamps of a pod set of that.

        Only accounts with the right `admit-pods` write these into templates; they are not shown to the rules here.
        """
        return object_of_set((self.of_template.get("annotations") or {}).get(ADMITTED_JOB, "")) is not None

    @property
    def metadata(self) -> Mapping[str, Mapping[str, str]]:
        """Labels and annotations of its own."""
        return {"labels": self.labels, "annotations": self.annotations}

    @property
    def of_template(self) -> Mapping[str, Mapping[str, str]]:
        """Labels and annotations of its template."""
        return self.template.get("metadata") or _NOBODY


def queue_for(job: GuardedJob, namespace_labels: Mapping[str, str], *, is_of_another: bool) -> str | None:
    """Return the LocalQueue for which a new Job is to be held as a whole; None: at most its pods are, one by one.

    `is_of_another`: something else than a CronJob controls it, and says when it begins: only its own label counts then.
    """
    if not job.runs_here or job.has_labels_of_template:
        return None
    if QUEUE_NAME in job.labels:
        return job.queue
    if is_of_another:
        return None
    theirs = are_accepted(namespace_labels)
    if theirs and job.labels.get(KUEUE_QUEUE):
        return job.labels[KUEUE_QUEUE]
    of_pods = job.of_template.get("labels") or {}
    if namespace_labels.get(HOLD) != HOLD_JOBS or QUEUE_NAME in of_pods or (theirs and of_pods.get(KUEUE_QUEUE)):
        return None
    return namespace_labels.get(DEFAULT_QUEUE)


def new_job_is_held(job: GuardedJob, who: Actor, namespace_labels: Mapping[str, str], *, is_of_another: bool) -> Texts:
    """CREATE: a Job of a queue is suspended. One that only the namespace's default queue would hold may have none."""
    if who.is_trusted:
        return ()
    if job.queue is not None and not job.is_suspended:
        what = f"a Job of queue {job.queue!r} has to be created suspended, or it would run without quota"
        return (f"{Rule.JOB_IS_HELD}: spec.suspend: {what}; create it again: Penstock suspends it",)
    if QUEUE_NAME in job.labels or not are_accepted(namespace_labels) or not job.labels.get(KUEUE_QUEUE):
        return ()
    if queue_for(job, namespace_labels, is_of_another=is_of_another) is None:
        return ()
    what = f"is missing: the namespace has the label {KUEUE_LABELS}, and {KUEUE_QUEUE} names a queue"
    return (f"{Rule.JOB_IS_HELD}: metadata.labels[{QUEUE_NAME}]: {what}; create it again: Penstock adds it",)


def new_job_has_no_stamps(job: GuardedJob, who: Actor) -> Texts:
    """CREATE: our stamps are not on new Jobs, nor in their templates."""
    if who.is_trusted:
        return ()
    what = "only Penstock writes this, when it admits the Job"
    return tuple(
        f"{Rule.STAMPS_ARE_OURS}: {path}metadata.{part}[{key}]: {what}; remove it"
        for path, part, key in stamps_on_job(job)
    )


def stamps_on_job(job: GuardedJob) -> tuple[tuple[str, str, str], ...]:
    """Return what only Penstock writes on a Job: where (empty: on the Job itself), in which part, and the key."""
    wish = (("", "annotations", WANTED_PARALLELISM),) if WANTED_PARALLELISM in job.annotations else ()
    places = ("", job.metadata), (_IN_TEMPLATE, job.of_template)
    return (*((path, part, key) for path, metadata in places for part, key in stamps_on(metadata)), *wish)


def job_stays_held(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE: only Penstock lets a Job of a queue begin. Everybody may suspend theirs.

    One that was admitted with an object begins with that.
    """
    queue = old.queue if old.queue is not None else new.queue
    if who.is_trusted or not old.is_suspended or new.is_suspended:
        return ()
    if old.is_part:
        what = "the Job begins with the object that controls it, which Penstock admits"
        return (f"{Rule.JOB_IS_HELD}: spec.suspend: {what}; leave it true; {_BREAK_GLASS}",)
    if queue is None:
        return ()
    what = f"only Penstock lets a Job of queue {queue!r} begin, when it admits the Job"
    return (f"{Rule.JOB_IS_HELD}: spec.suspend: {what}; leave it true; {_BREAK_GLASS}",)


def job_keys_are_ours(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE of a Job or its status: the queue's name and our stamps stay, in its template too.

    Only a Job that is suspended and has no stamps may be put into a queue. Stamps are ours on Jobs of no queue as well:
    pods believe those of their template.
    """
    return () if who.is_trusted else tuple(_changed_keys(old, new))


def _changed_keys(old: GuardedJob, new: GuardedJob) -> Iterator[str]:
    before, after = old.labels.get(QUEUE_NAME), new.labels.get(QUEUE_NAME)
    may_enter = before is None and old.is_suspended and new.is_suspended and not old.is_admitted
    if before != after and new.runs_here and not may_enter:
        yield _change("", "labels", QUEUE_NAME, before, after, _QUEUE)
    for path, was, would in (("", old.metadata, new.metadata), (_IN_TEMPLATE, old.of_template, new.of_template)):
        for part, key in STAMPS:
            before, after = (was.get(part) or {}).get(key), (would.get(part) or {}).get(key)
            if before != after:
                yield _change(path, part, key, before, after, "only Penstock writes this")


def template_is_fixed(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE: what was admitted is what runs: the template of a Job with stamps stays as it is."""
    if who.is_trusted or old.template == new.template:
        return ()
    if old.is_part:
        what = "the object that controls the Job was admitted with this template"
        return (f"{Rule.TEMPLATE_IS_FIXED}: spec.template: {what}; leave it as it was; {_BREAK_GLASS}",)
    if not old.is_admitted or not old.runs_here:
        return ()
    what = "the Job was admitted with this template, which cannot be changed until the Job waits in its queue again"
    return (f"{Rule.TEMPLATE_IS_FIXED}: spec.template: {what}; leave it as it was; {_BREAK_GLASS}",)


def job_does_not_grow(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE: no more pods at a time than were admitted; fewer are always allowed, and more of a Job that is suspended.

    What `asks_for_more` is not meant: Penstock makes a wish of it before this is asked.
    """
    is_raised = new.parallelism > old.parallelism
    is_grown = new.most > old.most or (is_raised and old.grows_by_index)
    if who.is_trusted or not is_grown:
        return ()
    if old.is_part:
        what = "would grow, and more pods were not admitted with the object that controls the Job"
        advice = "leave spec.parallelism and spec.completions, or lower them"
        return (f"{Rule.NO_GROWTH}: spec.parallelism: {what}; {advice}",)
    if not _is_charged(old, new):
        return ()
    name, was, would = "parallelism", old.parallelism, new.parallelism
    if not is_raised:
        name, was, would = "completions", old.completions or 0, new.completions or 0
    what = f"would grow from {was} to {would}, and more was not admitted by the Job's queue"
    both = "raise spec.completions to the same" if old.grows_by_index else "leave spec.completions"
    advice = f"{both}, lower it, or set spec.suspend to true: a Job that waits may have more"
    return (f"{Rule.NO_GROWTH}: spec.{name}: {what}; {advice}",)


def job_runs_no_longer(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE: where a limit holds for an admitted Job, its deadline may only be made shorter."""
    is_longer = new.deadline == 0 < old.deadline or old.deadline < new.deadline
    if who.is_trusted or not old.runs_here or RUN_TIME_LIMIT not in old.annotations or not is_longer:
        return ()
    before, after = (f"{one} seconds" if one else "none" for one in (old.deadline, new.deadline))
    what = f"was {before} and would be {after}, and the Job was admitted to run no longer"
    return (f"{Rule.NO_GROWTH}: spec.activeDeadlineSeconds: {what}; leave it as it was; {_BREAK_GLASS}",)


def wish_is_a_number(old: GuardedJob, new: GuardedJob, who: Actor) -> Texts:
    """UPDATE of a Job or its status: what is wanted of an admitted Job is a number; a Job that waits has none."""
    wanted = new.annotations.get(WANTED_PARALLELISM)
    if who.is_trusted or wanted in (None, old.annotations.get(WANTED_PARALLELISM)):
        return ()
    place = f"{Rule.NO_GROWTH}: metadata.annotations[{WANTED_PARALLELISM}]"
    if not old.is_admitted:
        return (f"{place}: only an admitted Job has this; remove it, and set spec.parallelism",)
    if not 0 < read_count(wanted) <= MOST_PODS:
        return (f"{place}: is {wanted!r}, which is no number of pods; write one from 1 to {MOST_PODS}, or remove it",)
    return ()


def asks_for_more(old: GuardedJob, new: GuardedJob, who: Actor) -> bool:
    """UPDATE: whether this raises the parallelism of an admitted Job, on which the queue decides.

    Of an Indexed Job with as many completions together with these, of all others alone.
    """
    completions = new.parallelism if old.grows_by_index else old.completions
    is_raised = old.parallelism < new.parallelism <= MOST_PODS and old.most < new.most
    return is_raised and new.completions == completions and not who.is_trusted and _is_charged(old, new)


def asks_for_less(old: GuardedJob, new: GuardedJob, who: Actor) -> bool:
    """UPDATE: whether this lowers the parallelism of an admitted Job, or says anew what one wants that is suspended."""
    if who is Actor.CONTROLLER or not old.is_admitted or not old.runs_here or new.parallelism == old.parallelism:
        return False
    return new.is_suspended or new.parallelism < old.parallelism


def _is_charged(old: GuardedJob, new: GuardedJob) -> bool:
    """Whether pods of the Job may be created after this update."""
    return old.is_admitted and old.runs_here and not new.is_suspended


_IN_TEMPLATE: Final = "spec.template."
_BREAK_GLASS: Final = "administrators do it as the break-glass group"
_QUEUE: Final = "a Job gets its queue when it is created, or while it is suspended and not admitted, and keeps it"


def _change(path: str, part: str, key: str, before: str | None, after: str | None, why: str) -> str:
    was, would = ("absent" if value is None else repr(value) for value in (before, after))
    place = f"{path}metadata.{part}[{key}]"
    return f"{Rule.KEYS_ARE_OURS}: {place}: was {was} and would be {would}; {why}; leave it as it was; {_BREAK_GLASS}"
