"""`penstock notifications test`: what a file says wrong, and whether its receivers take a message."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.cli.main import run
from tests.support.notices import a_file, a_receiver, a_route


class Hooks(HTTPServer):
    """Takes what is posted to /good, and refuses the rest."""

    came: list[dict[str, Any]]

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{path}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Hooks)
        self.server.came.append(orjson.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200 if self.path == "/good" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    server = Hooks(("127.0.0.1", 0), _Handler)
    server.came = []
    thread = threading.Thread(target=server.serve_forever, name="hooks")
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def a_file_of(folder: Path, hooks: Hooks) -> str:
    receivers = [
        a_receiver("hook", url=hooks.url("/good")),
        a_receiver("chat", url=hooks.url("/good"), format="Slack"),
        a_receiver("gone", url=hooks.url("/s3cret")),
    ]
    routes = [a_route("hook", "chat", "gone", events=["Admitted", "Late"])]
    return str(a_file(folder, {"cluster": "prod", "receivers": receivers, "routes": routes}))


def test_each_receiver_gets_a_message(tmp_path: Path, hooks: Hooks, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["notifications", "test", a_file_of(tmp_path, hooks)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "RECEIVER   FORMAT        RESULT   WHY",
        "hook       CloudEvents   sent     -",
        "chat       Slack         sent     -",
        "gone       CloudEvents   failed   404",
    ]
    event, text, _ = hooks.came
    assert (event["type"], event["source"], event["data"]) == (
        "dev.penstock.test.v1",
        "/penstock/prod",
        {"receiver": "hook"},
    )
    assert text == {"text": "[prod] Test: Penstock can send notifications to chat"}


def test_one_receiver_can_be_chosen(tmp_path: Path, hooks: Hooks, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["notifications", "test", a_file_of(tmp_path, hooks), "--receiver", "chat", "-o", "name"]) == 0
    assert (capsys.readouterr().out, len(hooks.came)) == ("chat\n", 1)
    assert run(["notifications", "test", a_file_of(tmp_path, hooks), "--receiver", "chit"]) == 2
    assert "--receiver: 'chit' is no receiver of this file; it has hook, chat, gone" in capsys.readouterr().err


def test_a_file_with_a_fault_sends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = a_file(tmp_path, {"receivers": [a_receiver(url="nowhere")], "routes": [a_route()]})
    assert run(["notifications", "test", str(file)]) == 1
    assert f"Error: {file}: receivers[0].url: " in capsys.readouterr().err
