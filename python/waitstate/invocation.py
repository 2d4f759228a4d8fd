"""One invocation of an agent: the run that it got, and the writes that it makes."""

from __future__ import annotations

import hashlib
import time
import uuid
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional

from .errors import StaleVersionError, WaitstateError
from .interruptions import Ending, Lost, Unreachable
from .journal import Journal
from .transport import Transport, download
from .values import decode

Event = Mapping[str, Any]

# These mean that the run is no longer ours, so this process must stop and must not fail the run.
_LOST_CODES = frozenset(
    {
        "STALE_VERSION",
        "LEASE_LOST",
        "RUN_DELETED",
        "RUN_EXPIRED",
        "RUN_SHREDDED",
        "RUN_NOT_FOUND",
        "RUN_ENDED",
        "TRANSITION_REFUSED",
    }
)

#: These mean that the request itself is wrong or too large. Sent again, it would be refused again.
REFUSED_CODES = frozenset(
    {"INVALID_INPUT", "TOO_LARGE", "RECORD_TOO_LARGE", "UNSUPPORTED_VALUE", "AGENT_NOT_FOUND", "REQUESTER_UNKNOWN"}
)

# These mean that the id of a child run cannot be used.
_CHILD_CODES = frozenset({"RUN_EXISTS", "RUN_DELETED", "RUN_EXPIRED", "RUN_SHREDDED"})


class Invocation:
    """The run of one invocation. Each write names the version that it follows, so only one process can write."""

    def __init__(
        self,
        event: Event,
        transport: Transport,
        deadline: Optional[float] = None,
        labels: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.transport = transport
        self.tenant: str = event["tenant"]
        self.run: str = event["run"]
        self.agent: str = event["agent"]
        #: When the process is stopped, on the clock of time.time(); None if nothing stops it.
        self.deadline = deadline
        self.labels = dict(labels or {})
        #: Whether this invocation has saved anything.
        self.has_progress = False
        #: Set by another thread to stop the agent at its next operation: "yield", "lost" or "ending".
        self.stop_reason: Optional[str] = None
        self._load(event)

    def _load(self, event: Event) -> None:
        if "contentUrl" in event:  # too large for an event
            event = {**event, **download(event["contentUrl"])}
        checkpoint = event["checkpoint"]
        self.version: int = checkpoint["version"]
        self.status: str = checkpoint["status"]
        self.checkpoint_labels: Mapping[str, str] = checkpoint.get("labels") or {}
        self.stored_state: Any = checkpoint.get("state")
        self.journal = Journal(checkpoint.get("toolResults") or {})
        self.input: Any = decode(event.get("input"))
        self.requested_by: Optional[str] = event.get("requestedBy")
        self.approvals: List[Mapping[str, Any]] = list(event.get("approvals") or [])
        self.signals: List[Mapping[str, Any]] = list(event.get("signals") or [])
        self.sleeps: List[Mapping[str, Any]] = list(event.get("sleeps") or [])
        self.calls: List[Mapping[str, Any]] = list(event.get("calls") or [])
        self.claimed_at = to_seconds(checkpoint["savedAt"]) if "savedAt" in checkpoint else None

    def reload(self) -> None:
        """Loads the newest checkpoint of the run."""
        loaded = self.transport.perform("load", self.tenant, self.run, {})
        self._load({"tenant": self.tenant, "run": self.run, "agent": self.agent, **loaded})

    def refresh(self) -> None:
        """Loads what happened outside of the agent; the journal stays as it is."""
        journal, stored_state = self.journal, self.stored_state
        try:
            self.reload()
        except WaitstateError as error:
            raise (Lost(error.message) if error.code in _LOST_CODES else Unreachable(error)) from error
        self.journal, self.stored_state = journal, stored_state

    def write(self, action: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Writes the next checkpoint. Raises Lost if another process has the run, Ending if it was cancelled."""
        try:
            return self._write(action, fields)
        except StaleVersionError as error:
            if error.found.get("status") != "ENDING":
                raise Lost(error.message) from error
        except WaitstateError as error:
            if action == "call" and error.code in _CHILD_CODES:
                self._check_exists()
                raise
            if error.code in _LOST_CODES:
                raise Lost(f"{error.code}: {error.message}") from error
            raise (error if error.code in REFUSED_CODES else Unreachable(error)) from error
        # The run was cancelled: a result that arrives now is recorded, so that it can be undone.
        self.refresh()
        if action == "save" and fields.get("toolResults") and "status" not in fields:
            self.write(action, fields)
        raise Ending("The run was ended from outside.")

    def _check_exists(self) -> None:
        """Raises Lost if the run itself no longer exists; an error of a call may mean the run or its child."""
        try:
            self.transport.perform("load", self.tenant, self.run, {})
        except WaitstateError as error:
            raise (Lost(error.message) if error.code in _LOST_CODES else Unreachable(error)) from error

    def _write(self, action: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
        labels = {**self.labels, **fields.get("labels", {})}
        request = {**fields, "expectedVersion": self.version, "writeId": str(uuid.uuid4())}
        if labels:
            request["labels"] = labels
        response = self.transport.perform(action, self.tenant, self.run, request)
        self.version = response["version"]
        self.has_progress = True
        return response

    @property
    def remaining_seconds(self) -> float:
        """The time until the process is stopped."""
        return float("inf") if self.deadline is None else self.deadline - time.time()

    def idempotency_key(self, id: str) -> str:
        """The same for every attempt of an operation of this run."""
        return self.derive(f"{self.journal.epoch}\n{id}")[:32]

    def derive(self, text: str) -> str:
        """Text that is the same for the same text in each invocation of the run."""
        seed = "\n".join([self.tenant, self.run, text])
        return hashlib.sha256(seed.encode()).hexdigest()


def to_seconds(timestamp: str) -> float:
    """A timestamp of the server on the clock of time.time()."""
    return to_datetime(timestamp).timestamp()


def to_datetime(timestamp: str) -> datetime:
    """A timestamp of the server."""
    return datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
