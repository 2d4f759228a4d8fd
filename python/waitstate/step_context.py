"""The argument of a step's function."""

from __future__ import annotations

import inspect
from typing import Any, Callable, List

from .values import encode


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
        self._events.append(encode(event, "The event"))

    def take_events(self) -> List[Any]:
        """The events that were emitted since the last call."""
        events, self._events = self._events, []
        return events


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
