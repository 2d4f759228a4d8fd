"""Runs agents in this process: asks a server for runs and executes them."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
import traceback
import uuid
from typing import Any, Dict, Mapping, Optional

from .agent import Agent, by_name
from .api import Api, Authenticate, path_of
from .durations import Duration, to_milliseconds
from .errors import WaitstateError
from .execute import execute
from .invocation import Invocation
from .transport import with_retries

_DEFAULT_LEASE: Duration = {"minutes": 1}
_DEFAULT_WAIT: Duration = {"seconds": 20}
_DEFAULT_GRACE: Duration = {"seconds": 25}
_PAUSE_SECONDS = 5.0

_LOST_CODES = ("LEASE_LOST", "RUN_DELETED", "RUN_NOT_FOUND", "RUN_EXPIRED")


class Worker:
    """Claims runs and executes them, until it is stopped."""

    def __init__(
        self,
        agents: Mapping[str, Agent],
        api: Api,
        *,
        name: Optional[str] = None,
        concurrency: int = 1,
        lease: Duration = _DEFAULT_LEASE,
        wait: Duration = _DEFAULT_WAIT,
    ) -> None:
        self._agents = agents
        self._api = api
        self._name = (name or f"{socket.gethostname()} {os.getpid()}")[:100]
        self._lease_ms = to_milliseconds("`lease`", lease)
        self._wait_ms = to_milliseconds("`wait`", wait)
        self._stopping = threading.Event()
        self._active: Dict[str, Invocation] = {}
        self._leases: Dict[str, str] = {}
        self._idle = threading.Condition()
        self._threads = [threading.Thread(target=self._loop, daemon=True) for _ in range(concurrency)]

    def start(self) -> None:
        """Starts to ask for runs."""
        for thread in self._threads:
            thread.start()

    def stop(self, grace: Duration = _DEFAULT_GRACE) -> None:
        """Takes no more runs, lets each run finish its current step, and releases it for another worker."""
        self._stopping.set()
        end = time.monotonic() + to_milliseconds("`grace`", grace) / 1000
        with self._idle:
            for invocation in self._active.values():
                invocation.stop_reason = invocation.stop_reason or "yield"
            self._idle.wait_for(lambda: not self._active, timeout=max(0.0, end - time.monotonic()))
            unfinished = dict(self._leases)
        # The process ends now, so a step that is still running is interrupted, and another worker runs it again.
        for run, lease in unfinished.items():
            self._release(run, lease, attempted=True)

    def _loop(self) -> None:
        while not self._stopping.is_set():
            try:
                event = self._claim()
            except Exception as error:  # Whatever it is, the worker keeps asking for runs.
                print(f"No run was claimed: {_described(error)}", file=sys.stderr, flush=True)
                self._stopping.wait(_PAUSE_SECONDS)
                continue
            if event is not None:
                self._execute(event)

    def _claim(self) -> Optional[Dict[str, Any]]:
        body = {
            "agents": list(self._agents),
            "worker": self._name,
            "lease": {"milliseconds": self._lease_ms},
            "wait": {"milliseconds": self._wait_ms},
        }
        headers = {"idempotency-key": str(uuid.uuid4())}

        def send(attempt: int) -> Optional[Dict[str, Any]]:
            # A claim whose response was lost is found by its key.
            repeated = {**body, "repeats": True} if attempt > 1 else body
            return self._api.request("POST", "/api/claims", repeated, headers)

        return with_retries(send)

    def _execute(self, event: Mapping[str, Any]) -> None:
        run, lease = event["run"], event["lease"]["id"]
        if self._stopping.is_set():
            return self._release(run, lease, attempted=False)
        done = threading.Event()
        try:
            invocation = Invocation(event, self._api)
            with self._idle:
                self._active[run], self._leases[run] = invocation, lease
            threading.Thread(target=self._renew, args=(invocation, lease, done), daemon=True).start()
            outcome = execute(self._agents, invocation)
            if outcome == "yielded":
                self._release(run, lease, attempted=False)
        except BaseException:  # Also SystemExit, which would only end this thread.
            traceback.print_exc()
            # Claimed again at once, the run would probably fail again.
            self._stopping.wait(1)
            self._release(run, lease, attempted=True)
        finally:
            done.set()
            with self._idle:
                self._active.pop(run, None)
                self._leases.pop(run, None)
                self._idle.notify_all()

    def _renew(self, invocation: Invocation, lease: str, done: threading.Event) -> None:
        """Renews the lease until the run is done. The agent stops at its next operation if the lease is lost."""
        body = {"lease": lease, "for": {"milliseconds": self._lease_ms}}
        while not done.wait(self._lease_ms / 3000):
            try:
                renewed = self._api.request("POST", f"/api/runs/{path_of(invocation.run)}/lease", body) or {}
                if renewed.get("status") == "ENDING":
                    invocation.stop_reason = "ending"
            except Exception as error:
                if isinstance(error, WaitstateError) and error.code in _LOST_CODES:
                    invocation.stop_reason = "lost"
                    return
                print(
                    f"The lease of run {invocation.run} was not renewed: {_described(error)}",
                    file=sys.stderr,
                    flush=True,
                )

    def _release(self, run: str, lease: str, attempted: bool) -> None:
        try:
            self._api.post(f"/api/runs/{path_of(run)}/release", {"lease": lease, "attempted": attempted})
        except Exception:
            pass  # It was released or taken over before, or its lease ends soon.


def _described(error: Exception) -> str:
    return f"{error.code if isinstance(error, WaitstateError) else type(error).__name__}: {error}"


def run_worker(
    *agents: Agent,
    url: Optional[str] = None,
    key: Optional[str] = None,
    auth: Optional[Authenticate] = None,
    name: Optional[str] = None,
    concurrency: int = 1,
    lease: Duration = _DEFAULT_LEASE,
    wait: Duration = _DEFAULT_WAIT,
    grace: Duration = _DEFAULT_GRACE,
) -> None:
    """Executes runs until the process gets SIGTERM or SIGINT, and releases unfinished ones."""
    known = by_name(agents)
    connected = Api(url, key, auth)
    worker = Worker(known, connected, name=name, concurrency=concurrency, lease=lease, wait=wait)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    worker.start()
    print(f"Worker for {', '.join(known)} at {connected.url}", flush=True)
    stopped.wait()
    print("Stopping: waiting for the current steps.", flush=True)
    worker.stop(grace)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads that wait for a run, or are in the middle of a step that was released, must not delay the exit.
    os._exit(0)
