"""A local server for tests, and the programs that run on it."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional

from waitstate import Agent, Api, WaitstateError, Worker
from waitstate.client import Client

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "python"
_LIMIT_SECONDS = 60.0


def until(what: str, find: Callable[[], Any]) -> Any:
    """Waits until `find` returns a value."""
    end = time.monotonic() + _LIMIT_SECONDS
    while time.monotonic() < end:
        found = find()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"Timed out waiting for: {what}")


def find_node() -> str:
    """The Node that runs the server; the tests that need it are skipped if there is none."""
    given = os.environ.get("WAITSTATE_NODE")
    if given:
        return given
    npx = shutil.which("npx")
    if npx and (REPOSITORY / "node_modules").exists():
        found = subprocess.run(
            [npx, "node", "-p", "process.execPath"], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
        if found.returncode == 0:
            return found.stdout.strip()
    raise unittest.SkipTest("These tests start the local server, which needs Node: run `npm ci` in the repository.")


class Folder:
    """A temporary folder with programs, and files that they write."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="waitstate-python-"))
        atexit.register(shutil.rmtree, self.path, ignore_errors=True)

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.write_text(text)
        return file

    def lines(self, name: str) -> List[str]:
        file = self.path / name
        # The last line may be incomplete.
        return file.read_text().split("\n")[:-1] if file.exists() else []


def environment(**more: str) -> Dict[str, str]:
    """The environment of a program that uses the client."""
    return {**os.environ, "PYTHONPATH": str(PACKAGE), "NO_COLOR": "1", **more}


class Server:
    """A local server in its own process."""

    def __init__(self, folder: Optional[Folder] = None, programs: Optional[List[str]] = None) -> None:
        self.folder = folder or Folder()
        self.log: List[str] = []
        args = [find_node(), str(REPOSITORY / "cli" / "main.ts"), "dev", "--port", "0", "--no-watch"]
        for program in programs or []:
            args += ["--exec", f'"{sys.executable}" {program}']
        self.process = subprocess.Popen(
            args, cwd=self.folder.path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        atexit.register(self.kill)
        threading.Thread(target=self._read, daemon=True).start()
        self.wait_for_line("Ctrl-C to stop")
        found = json.loads((self.folder.path / ".waitstate" / "server.json").read_text())
        self.url, self.key = found["url"], found["key"]
        self.client = Client(self.url, self.key)
        if programs:
            self.wait_for_line("waitstate start")

    def _read(self) -> None:
        for line in self.process.stdout or []:
            self.log.append(line.rstrip("\n"))

    @property
    def api(self) -> Api:
        return self.client.api

    @property
    def environment(self) -> Dict[str, str]:
        return environment(WAITSTATE_URL=self.url, WAITSTATE_KEY=self.key)

    def wait_for_line(self, text: str) -> str:
        def find() -> Optional[str]:
            found = next((line for line in self.log if text in line), None)
            if found is None and self.process.poll() is not None:
                raise AssertionError("The server ended:\n" + "\n".join(self.log))
            return found

        try:
            return str(until(text, find))
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.log)) from None

    def becomes(self, run: str, status: str) -> Dict[str, Any]:
        """Waits for a status of a run and returns the run."""

        def find() -> Optional[Dict[str, Any]]:
            shown = self.client.show(run)
            if shown["status"] in ("SUCCEEDED", "FAILED", "CANCELLED") and shown["status"] != status:
                raise AssertionError(f"Expected {status}: {shown}\n" + "\n".join(self.log))
            return shown if shown["status"] == status else None

        try:
            return dict(until(f"{run} is {status}", find))
        except AssertionError as error:
            raise AssertionError(f"{error}: {self.client.show(run)}\n" + "\n".join(self.log[-30:])) from None

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


_shared: Optional[Server] = None


def shared_server() -> Server:
    """A server without agents, which all tests share; workers execute its runs."""
    global _shared
    if _shared is None:
        _shared = Server()
    return _shared


@contextmanager
def working(*agents: Agent, api: Optional[Api] = None, **options: Any) -> Iterator[Worker]:
    """A worker in this process that executes runs of the shared server."""
    worker = Worker(
        {each.name: each for each in agents}, api or shared_server().api, **{"wait": {"seconds": 2}, **options}
    )
    worker.start()
    names = {each.name for each in agents}
    # The server knows an agent once a worker has asked for its runs.
    until(
        "the agents are known",
        lambda: names <= {each["name"] for each in shared_server().api.get("/api/agents")["agents"]},
    )
    try:
        yield worker
    finally:
        worker.stop({"seconds": 5})


class LossyApi(Api):
    """Loses the response of each save once, after the server has applied it."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.url, server.key)
        self.lost: List[str] = []

    def request(self, method: str, path: str, *args: Any, **options: Any) -> Any:
        response = super().request(method, path, *args, **options)
        key = json.dumps([path, args[-1] if args else None])
        if method == "POST" and not path.endswith("/lease") and response is not None and key not in self.lost:
            self.lost.append(key)
            raise WaitstateError("UNREACHABLE", "The response was lost.")
        return response
