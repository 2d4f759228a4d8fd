"""Checkpoints that any program saves, without an agent: a state and named results for each key."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .api import path_of
from .client import Client
from .errors import StaleVersionError, WaitstateError

_MISSING = {"RUN_NOT_FOUND", "CHECKPOINT_NOT_FOUND"}
_MAX_CONFLICTS = 20


@dataclass(frozen=True)
class Stored:
    """The newest checkpoint of a key, or an older one."""

    #: 0 if nothing is stored under the key.
    version: int = 0
    state: Any = None
    results: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Change:
    """What to save: a state, results to set, and results to forget. What is left out stays as it is."""

    state: Any = None
    results: Mapping[str, Any] = field(default_factory=dict)
    forget: Sequence[str] = ()


class Store:
    """Saves documents under keys, each save as one checkpoint with optimistic concurrency."""

    def __init__(self, client: Client, *, prefix: str, owner: str) -> None:
        self.client = client
        self._prefix = prefix
        self._owner = owner
        self._versions: Dict[str, int] = {}
        self._lock = threading.Lock()

    def run_of(self, key: str) -> str:
        """The id of the run that has the checkpoints of a key."""
        return self._prefix + key

    def load(self, key: str, version: Optional[int] = None) -> Stored:
        """The newest checkpoint of a key, or that of a version; version 0 if there is none."""
        path = f"/api/runs/{path_of(self.run_of(key))}/load"
        try:
            loaded = self.client.api.load(path, {"version": version})
        except WaitstateError as error:
            if error.code not in _MISSING:
                raise
            return Stored()
        checkpoint = loaded["checkpoint"]
        if version is None:
            self._note(key, checkpoint["version"])
        return Stored(checkpoint["version"], checkpoint["state"], checkpoint["toolResults"])

    def save(self, key: str, change: Change) -> int:
        """Saves without looking at what is stored; returns the new version."""
        return self._save(key, lambda _: change, reads=False)

    def update(self, key: str, edit: Callable[[Stored], Optional[Change]]) -> int:
        """Saves what `edit` makes of the newest checkpoint; it is called again if another writer was first."""
        return self._save(key, edit, reads=True)

    def keys(self) -> List[str]:
        """All keys, the one that was saved last first."""
        found: List[str] = []
        cursor: Optional[str] = None
        while True:
            page = self.client.api.get("/api/runs", {"owner": self._owner, "limit": 100, "cursor": cursor})
            runs = [each["run"] for each in page["runs"]]
            found += [run[len(self._prefix) :] for run in runs if run.startswith(self._prefix)]
            cursor = page.get("cursor")
            if cursor is None:
                return found

    def _save(self, key: str, edit: Callable[[Stored], Optional[Change]], reads: bool) -> int:
        known = self._versions.get(key)
        stored = self.load(key) if reads or known is None else Stored(known)
        for _ in range(_MAX_CONFLICTS):
            change = edit(stored)
            if change is None:
                return stored.version
            try:
                return self._write(key, stored.version, change)
            except StaleVersionError:
                stored = self.load(key)
        raise WaitstateError(
            "STALE_VERSION", f'"{key}" was changed by others {_MAX_CONFLICTS} times in a row. Try again.'
        )

    def _write(self, key: str, version: int, change: Change) -> int:
        body: Dict[str, Any] = {"owner": self._owner} if version == 0 else {}
        if change.state is not None:
            body["state"] = change.state
        if change.results:
            body["toolResults"] = dict(change.results)
        if change.forget:
            body["forgetToolResults"] = list(change.forget)
        headers = {"if-match": f'"{version}"'}
        path = f"/api/runs/{path_of(self.run_of(key))}/checkpoints"
        saved = self.client.api.post(path, body, key=str(uuid.uuid4()), headers=headers)["version"]
        self._note(key, saved)
        return int(saved)

    def _note(self, key: str, version: int) -> None:
        with self._lock:
            self._versions[key] = max(version, self._versions.get(key, 0))
