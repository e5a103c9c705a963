"""`penstock simulate` by the visibility API: what is asked of it, if it takes that, and its refusals in our words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec
import orjson

from controller.cli.visibility_client import WITHOUT_API, VisibilityClient
from controller.extension_api.bodies import LIMIT
from controller.extension_api.queueing.simulations import KIND, PLURAL, SimulationSpec
from controller.extension_api.resources import API_VERSION
from controller.kube.errors import Invalid, one_line
from controller.kube.manifests import Document
from controller.simulator.variants import Part
from controller.visibility.simulation_rows import SimulationRow

_NUMBERED = re.compile(r"spec\.(?P<part>[a-z]+)\[(?P<number>\d+)\]: (?P<why>.*)", re.DOTALL)


def body_of(spec: Mapping[str, Any]) -> bytes | None:
    """Return the object to send; None where the API does not take so much, or so little, of something."""
    try:
        msgspec.convert(spec, SimulationSpec)
        body = orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "spec": spec})
    except (msgspec.ValidationError, TypeError):
        return None
    return body if len(body) <= LIMIT else None


async def simulate_by_api(api: VisibilityClient, body: bytes, documents: Sequence[Document]) -> SimulationRow:
    """Return what the controller has simulated; `documents` are the Jobs of the body.

    Raises ClickException where something cannot be tried, KubeError and NotServed.
    """
    try:
        return await api.created(f"/{PLURAL}", body, SimulationRow)
    except Invalid as error:
        raise click.ClickException(_told(error, documents)) from None


def _told(error: Invalid, documents: Sequence[Document]) -> str:
    """Say it of what was given on the command line, not of fields that nobody has written."""
    text = one_line(error).partition(" is invalid: ")[2] or one_line(error)
    found = _NUMBERED.match(text)
    if found is None:
        return f"{text.replace('spec.', '--')}; {WITHOUT_API} simulates here, for as long as it takes"
    number = int(found["number"])
    is_job = found["part"] == Part.JOBS and number < len(documents)
    return f"{documents[number].where}: {found['why']}" if is_job else f"--change {found['why']}"
