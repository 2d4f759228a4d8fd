"""The argument of a step's function."""

from __future__ import annotations

import inspect
import json
from typing import Any, Callable, List

from .values import encode
from .waitstate_error import invalid_input


class StepContext:
    """What the function of a step gets."""

    def __init__(self, idempotency_key: str, attempt: int) -> None:
        #: The same for every attempt of this step in this run. Pass it to services that accept an idempotency key.
        self.idempotency_key = idempotency_key
        #: 1 for the first attempt.
        self.attempt = attempt
        self._events: List[Any] = []

    def emit(self, event: Any) -> None:
        """Emits an event of the run; it is recorded with the outcome of this attempt."""
        doc = encode(event, "The event")
        check_event(doc, self._events)
        self._events.append(doc)

    def take_events(self) -> List[Any]:
        """The events that were emitted since the last call."""
        events, self._events = self._events, []
        return events


_MAX_EVENT_CHARACTERS = 16 * 1024
_MAX_EVENTS = 50
_MAX_TOTAL_CHARACTERS = 30 * 1024


def check_event(event: Any, earlier: List[Any]) -> None:
    """Refuses an event that is too large, or one too many for a checkpoint."""
    size = len(json.dumps(event))
    if size > _MAX_EVENT_CHARACTERS:
        raise invalid_input("An event", f"JSON of at most {_MAX_EVENT_CHARACTERS} characters", f"{size} characters")
    total = size + sum(len(json.dumps(each)) for each in earlier)
    if len(earlier) >= _MAX_EVENTS or total > _MAX_TOTAL_CHARACTERS:
        expected = f"at most {_MAX_EVENTS} with {_MAX_TOTAL_CHARACTERS} characters in a step, and as many between two"
        raise invalid_input("Events", expected, f"{len(earlier) + 1} events with {total} characters")


def call_with(work: Callable[..., Any], *args: Any) -> Any:
    """Calls a function with as many of the arguments as it requires: `lambda: …` and `lambda step: …` both work."""
    return work(*args[: _required(work, len(args))])


def _required(work: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(work).parameters.values()
    except (TypeError, ValueError):  # A function that is written in C may have no signature.
        return 0
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return most
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    # A parameter with a default is not for us: `lambda item=item: …` captures the variable of a loop.
    return min(most, sum(each.kind in positional and each.default is each.empty for each in parameters))
