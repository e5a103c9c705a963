"""What a Deployment of ours says, read the way the program itself would read it."""

from __future__ import annotations

from typing import Any

from click import Command

import controller.__main__
import webhook.__main__

_COMMANDS: dict[str, Command] = {"controller": controller.__main__.main, "webhook": webhook.__main__.main}


def container_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """Its one container."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return dict(container)


def options_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """The options that its program would take from its arguments. Raises click's errors as the program would."""
    container = container_of(deployment)
    python, dash_m, module = container["command"]
    assert (python, dash_m) == ("python", "-m")
    # read, not run: what a ConfigMap mounts is not there
    arguments = [one for one in container["args"] if not one.startswith("--quota-resources=")]
    return _COMMANDS[module].make_context(module, arguments).params
