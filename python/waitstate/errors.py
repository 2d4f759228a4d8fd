"""The errors of the client."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from .durations import Duration, to_milliseconds
from .waitstate_error import WaitstateError, invalid_input

__all__ = [
    "FatalError",
    "RetryableError",
    "StaleVersionError",
    "StepFailed",
    "WaitstateError",
    "agent_misused",
    "invalid_input",
    "to_error",
]


class StaleVersionError(WaitstateError):
    """Another writer saved first; `found` has the current version and status."""

    def __init__(self, message: str, found: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__("STALE_VERSION", message)
        self.found: Mapping[str, Any] = found or {}


class StepFailed(WaitstateError):
    """A step failed after all its attempts; raised in the agent, and again by each replay."""

    def __init__(self, step: str, error_name: str, error_message: str, code: str = "STEP_FAILED") -> None:
        super().__init__(code, f'Step "{step}" failed: {error_name}: {error_message}')
        self.step = step
        #: The class name of the exception that the step raised.
        self.error_name = error_name
        #: The text of the exception that the step raised.
        self.error_message = error_message


class FatalError(WaitstateError):
    """Raise it in a step to fail the step without a retry."""

    def __init__(self, message: str) -> None:
        super().__init__("STEP_FAILED", message)


class RetryableError(WaitstateError):
    """Raise it in a step to choose the delay of the next attempt, for example from a Retry-After header."""

    def __init__(self, message: str, retry_after: Optional[Duration] = None) -> None:
        super().__init__("STEP_FAILED", message)
        if retry_after is not None:
            to_milliseconds("`retry_after`", retry_after)
        self.retry_after = retry_after


def agent_misused(message: str) -> WaitstateError:
    """The error of an agent that uses its context incorrectly."""
    return WaitstateError("AGENT_MISUSED", message)


def to_error(code: str, message: str, found: Optional[Mapping[str, Any]] = None) -> WaitstateError:
    """The error for a code that Waitstate sent."""
    return StaleVersionError(message, found) if code == "STALE_VERSION" else WaitstateError(code, message)
