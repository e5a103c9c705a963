"""Submits a Job to a queue with the official Kubernetes client, and says what its pod waits for until it is done.

    pip install kubernetes
    python submit_job.py --namespace team-a --queue main

Needs the queue of ../spot_first.yaml, and the rights to create Jobs and to watch pods and Jobs.
"""

from __future__ import annotations

import argparse
import sys

from kubernetes import client, config, watch


def a_job(name: str, queue: str) -> client.V1Job:
    """One pod that asks for half a core. The label of its template names the LocalQueue."""
    container = client.V1Container(
        name="main",
        image="python:3.13-slim",
        command=["python", "-c", "print('ok')"],
        resources=client.V1ResourceRequirements(requests={"cpu": "500m", "memory": "256Mi"}),
    )
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"penstock.dev/queue-name": queue}),
        spec=client.V1PodSpec(restart_policy="Never", containers=[container]),
    )
    return client.V1Job(
        metadata=client.V1ObjectMeta(generate_name=f"{name}-"),
        spec=client.V1JobSpec(template=template, backoff_limit=2),
    )


def state_of(pod: client.V1Pod) -> str:
    """Say where a pod stands; of one that waits, why."""
    if pod.spec.scheduling_gates:
        conditions = {one.type: one for one in pod.status.conditions or ()}
        why = conditions.get("penstock.dev/Admissible")
        return "waits" if why is None else f"waits, {why.reason}: {why.message}"
    return pod.status.phase if pod.spec.node_name else "admitted"


def follow(namespace: str, job: str) -> str:
    """Print each change of the Job's pod; return its last phase."""
    told = ""
    pods = watch.Watch().stream(
        client.CoreV1Api().list_namespaced_pod, namespace, label_selector=f"batch.kubernetes.io/job-name={job}"
    )
    for event in pods:
        pod = event["object"]
        state = state_of(pod)
        if state != told:
            print(f"pod/{pod.metadata.name} {state}", flush=True)
            told = state
        if pod.status.phase in ("Succeeded", "Failed"):
            return pod.status.phase
    return told


def main() -> int:
    """Submit a Job and follow it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="default")
    parser.add_argument("--queue", default="main", help="a LocalQueue of the namespace")
    arguments = parser.parse_args()
    config.load_config()  # of a kubeconfig, or of the pod that this runs in
    job = client.BatchV1Api().create_namespaced_job(arguments.namespace, a_job("hello", arguments.queue))
    print(f"job/{job.metadata.name} created", flush=True)
    return 0 if follow(arguments.namespace, job.metadata.name) == "Succeeded" else 1


if __name__ == "__main__":
    sys.exit(main())
