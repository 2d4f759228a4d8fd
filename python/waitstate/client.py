"""Starts, reads and changes runs over the HTTP API."""

from __future__ import annotations

import time
import uuid
from typing import Any, Dict, List, Mapping, Optional, Union

from .agent import Agent
from .api import Api, Authenticate, path_of
from .durations import Duration, to_milliseconds, to_wire
from .errors import WaitstateError
from .values import decode, encode

_ENDED = {"SUCCEEDED", "FAILED", "CANCELLED"}


class Client:
    """Controls runs from any program; by default those of the local server."""

    def __init__(
        self, url: Optional[str] = None, key: Optional[str] = None, auth: Optional[Authenticate] = None
    ) -> None:
        self.api = Api(url, key, auth)

    def start(
        self,
        agent: Union[str, Agent],
        input: Any = None,
        *,
        id: Optional[str] = None,
        timeout: Optional[Duration] = None,
        owner: Optional[str] = None,
        tags: Optional[List[str]] = None,
    ) -> str:
        """Starts a run and returns its id; a second start with the same id returns the same run."""
        fields: Dict[str, Any] = {
            "agent": agent.name if isinstance(agent, Agent) else agent,
            "input": encode(input, "The input"),
            "id": id,
            "timeout": None if timeout is None else to_wire("`timeout`", timeout),
            "owner": owner,
            "tags": tags,
        }
        body = {name: value for name, value in fields.items() if value is not None or name == "input"}
        return str(self.api.post("/api/runs", body)["run"])

    def show(self, run: str) -> Dict[str, Any]:
        """The run: its status, what it waits for, its result or error."""
        return self.api.get(f"/api/runs/{path_of(run)}")

    def result(self, run: str, *, timeout: Optional[Duration] = None) -> Any:
        """Waits for the end of a run and returns its result; raises RUN_FAILED or RUN_CANCELLED."""
        limit = float("inf") if timeout is None else to_milliseconds("`timeout`", timeout) / 1000
        end = time.monotonic() + limit
        pause = 0.1
        while True:
            shown = self.show(run)
            if shown["status"] in _ENDED:
                return _result(run, shown)
            if time.monotonic() >= end:
                raise WaitstateError("TIMED_OUT", f'Run "{run}" is still {shown["status"]} after {limit:g} seconds.')
            time.sleep(pause)
            pause = min(2.0, pause * 1.5)

    def signal(self, run: str, name: str, value: Any = None, *, id: Optional[str] = None) -> None:
        """Sends a signal; a second signal with the same id is ignored."""
        body = {"name": name, "value": encode(value, "The value"), "id": id or str(uuid.uuid4())}
        self.api.post(f"/api/runs/{path_of(run)}/signals", body)

    def decide(
        self, run: str, approval: str, answer: str, *, by: Optional[str] = None, comment: Optional[str] = None
    ) -> None:
        """Decides an approval: `approve` or `reject`."""
        given = {"answer": answer, "by": by, "comment": comment}
        body = {name: value for name, value in given.items() if value is not None}
        self.api.post(f"/api/runs/{path_of(run)}/approvals/{path_of(approval)}/decide", body)

    def answer(self, run: str, question: str, value: Any, *, by: Optional[str] = None) -> None:
        """Answers a question."""
        body = {"value": encode(value, "The value"), **({"by": by} if by is not None else {})}
        self.api.post(f"/api/runs/{path_of(run)}/approvals/{path_of(question)}/decide", body)

    def cancel(self, run: str) -> None:
        """Cancels a run."""
        self.api.post(f"/api/runs/{path_of(run)}/cancel", {})

    def retry(self, run: str) -> None:
        """Resumes a failed run where it stopped."""
        self.api.post(f"/api/runs/{path_of(run)}/retry", {})

    def history(self, run: str, *, limit: int = 100) -> List[Dict[str, Any]]:
        """The checkpoints of a run without their content, the newest first."""
        found: List[Dict[str, Any]] = []
        before: Optional[int] = None
        while len(found) < limit and before != 0:
            query = {"newestFirst": "true", "limit": min(1000, limit - len(found)), "to": before}
            page = self.api.get(f"/api/runs/{path_of(run)}/checkpoints", query)["checkpoints"]
            found += page
            before = page[-1]["version"] - 1 if page else 0
        return found


def _result(run: str, shown: Mapping[str, Any]) -> Any:
    if shown["status"] == "SUCCEEDED":
        return decode(shown.get("result"))
    if shown["status"] == "CANCELLED":
        raise WaitstateError("RUN_CANCELLED", f'Run "{run}" was cancelled.')
    error = shown.get("error") or {}
    raise WaitstateError("RUN_FAILED", f'Run "{run}" failed: {error.get("name")}: {error.get("message")}')
