"""Jobs as the cache knows them."""

from __future__ import annotations

from controller.cache.sinks import JobSink
from controller.core.kubernetes.owners import Job
from controller.kube.decode_jobs import JobState
from controller.kube.wire import Owned
from tests.support.builders import a_cache


def a_job(uid: str, parallelism: int = 1) -> JobState:
    return JobState(Job(uid=uid, namespace="default", name=uid, parallelism=parallelism))


def test_jobs_are_known_as_long_as_they_exist() -> None:
    cache = a_cache()
    sink = JobSink(cache)
    list(sink.replace([a_job("a"), a_job("b")]))
    sink.upsert(a_job("b", parallelism=2))
    sink.remove(Owned(uid="a"))
    assert cache.jobs == {"b": a_job("b", parallelism=2).job}
    list(sink.replace([a_job("c")]))
    assert cache.jobs == {"c": a_job("c").job}
