"""The base class of every error of the client."""

from __future__ import annotations

from typing import Any, Optional


class WaitstateError(Exception):
    """An error of Waitstate; `code` is stable across releases, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        #: The number of the operation that failed, for a failure that the journal has recorded.
        self.position: Optional[int] = None


def invalid_input(what: str, expected: str, found: Any) -> WaitstateError:
    """The error of an invalid argument."""
    text = repr(found)
    shown = text if len(text) <= 200 else text[:200] + "…"
    return WaitstateError("INVALID_INPUT", f"{what} must be {expected}; found {shown}.")
