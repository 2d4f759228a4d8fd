"""How the client reaches Waitstate: over HTTP, or through the `checkpoint` function."""

from __future__ import annotations

import random
import time
from typing import Any, Callable, Dict, Mapping, Protocol, TypeVar

from .errors import WaitstateError

T = TypeVar("T")

#: The codes of failures that may pass; the request may or may not have been applied.
RETRYABLE_CODES = frozenset({"STORAGE_UNAVAILABLE", "TIMED_OUT", "UNEXPECTED", "UNREACHABLE", "THROTTLED"})

_MAX_ATTEMPTS = 6
_MAX_DELAY_SECONDS = 5.0


class Transport(Protocol):
    """Performs actions of the protocol."""

    def perform(self, action: str, tenant: str, run: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Performs an action; repeats it with the same fields if the response is lost."""


def with_retries(send: Callable[[int], T]) -> T:
    """Calls `send` with the number of the attempt until it succeeds or fails for good."""
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            return send(attempt)
        except WaitstateError as error:
            if error.code not in RETRYABLE_CODES or attempt == _MAX_ATTEMPTS:
                raise
            delay = min(_MAX_DELAY_SECONDS, 0.1 * 2**attempt)
            time.sleep(delay * (0.5 + random.random() / 2))
    raise AssertionError("unreachable")
