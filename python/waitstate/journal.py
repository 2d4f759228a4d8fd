"""The journal of a run: which operations the agent called, in order, and what came of them."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Dict, List, Mapping, Optional

from .errors import WaitstateError, invalid_input

# Each operation has an entry `journal/3` in the tool results of the run. The result of a step is a tool result under
# the id of the step, so that people and forks find it there. Ids of operations never contain a slash.
_PREFIX = "journal/"
_EPOCH = "journal/epoch"

Entry = Dict[str, Any]


class Journal:
    """Finds the entry of each operation that the code calls, and refuses code that does not match."""

    def __init__(self, tool_results: Mapping[str, Any]) -> None:
        self.results: Dict[str, Any] = {key: doc for key, doc in tool_results.items() if not key.startswith(_PREFIX)}
        numbers = sorted(int(key[len(_PREFIX) :]) for key in tool_results if re.fullmatch(r"journal/\d+", key))
        self.entries: List[Entry] = [dict(tool_results[f"{_PREFIX}{number}"]) for number in numbers]
        #: Grows each time that steps are undone, so that they get new idempotency keys when they run again.
        self.epoch = int(tool_results.get(_EPOCH, 0))
        #: The number of operations that the code has called.
        self.position = 0
        self._counts: Dict[str, int] = {}

    @property
    def is_replaying(self) -> bool:
        """Whether the next operation is recorded."""
        return self.position < len(self.entries)

    def identify(self, name: str, key: Optional[str] = None) -> str:
        """The id of the next operation of this name: `search`, `search#2`, `search:call_1`."""
        base = escape_name(name, "The name of an operation")
        if key is not None:
            base += ":" + (f"~{short_hash(key)}" if len(key) > 100 else escape_name(key, "The key of an operation"))
        count = self._counts.get(base, 0) + 1
        self._counts[base] = count
        return base if count == 1 else f"{base}#{count}"

    def enter(self, kind: str, id: str, hash: Optional[str] = None) -> Optional[Entry]:
        """The entry of the operation that the code calls now; None if it is new."""
        self.position += 1
        if self.position > len(self.entries):
            return None
        entry = self.entries[self.position - 1]
        if (entry["kind"], entry["id"]) != (kind, id):
            raise mismatch(f'The code calls {kind} "{id}"', f'{entry["kind"]} "{entry["id"]}" is recorded there')
        if entry.get("hash") != hash:
            raise mismatch(f'The code calls {kind} "{id}"', "its arguments differ from the recorded ones")
        return entry

    def check_end(self) -> None:
        """Refuses code that ends before it has called every recorded operation."""
        if self.is_replaying:
            entry = self.entries[self.position]
            raise mismatch("The agent ends", f'{entry["kind"]} "{entry["id"]}" is recorded next')

    def record(self, entry: Entry) -> Dict[str, Any]:
        """Sets the entry of the current operation; returns the tool results that save it."""
        if self.position > len(self.entries):
            self.entries.append(entry)
        else:
            self.entries[self.position - 1] = entry
        return {f"{_PREFIX}{self.position}": entry}

    def truncate(self, length: int) -> List[str]:
        """Forgets all operations after the first `length` ones; returns the tool results to forget."""
        forgotten: List[str] = []
        for number in range(length + 1, len(self.entries) + 1):
            forgotten.append(f"{_PREFIX}{number}")
            id = self.entries[number - 1]["id"]
            if self.results.pop(id, None) is not None:
                forgotten.append(id)
        del self.entries[length:]
        return forgotten

    def next_epoch(self) -> Dict[str, Any]:
        """Starts the next epoch; returns the tool results that save it."""
        self.epoch += 1
        return {_EPOCH: self.epoch}


def mismatch(called: str, recorded: str) -> WaitstateError:
    """The error of code that does not match the journal, with the usual causes."""
    return WaitstateError(
        "STEP_MISMATCH",
        f"{called}, but {recorded}: the code does not match the journal of the run. Nothing was run or undone. "
        "Usual causes: random numbers, the time, a request or another read outside a step, or changed code. Use "
        "ctx.random(), ctx.now() and ctx.step() instead, or deploy code that matches. Then retry or rewind the run.",
    )


def escape_name(name: Any, what: str) -> str:
    """Escapes the characters that have a meaning in an id."""
    if not isinstance(name, str) or not 1 <= len(name) <= 200:
        raise invalid_input(what, "text of 1 to 200 characters", name)
    return re.sub(r"[%/#:\[\]~]|^@", lambda found: f"%{ord(found[0]):02X}", name)


def short_hash(text: str) -> str:
    """A short hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def hash_of(doc: Any) -> str:
    """A short hash of a document; the order of keys does not matter."""
    return short_hash(json.dumps(doc, sort_keys=True, separators=(",", ":")))
