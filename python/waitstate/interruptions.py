"""Why the code of an agent stops in the middle. None of these is an Exception, so an agent does not catch them."""

from __future__ import annotations

from .errors import WaitstateError


class Interruption(BaseException):
    """Stops the code of the agent; a new invocation continues later."""


class Suspended(Interruption):
    """The run waits, and no process is needed until it wakes."""


class Yielded(Interruption):
    """The run continues in another invocation, because this one has little time left or shuts down."""


class Lost(Interruption):
    """Another process has the run, or it no longer exists."""


class Ending(Interruption):
    """The run was cancelled or timed out."""


class Unreachable(Interruption):
    """Waitstate cannot be reached, so nothing can be recorded; the run is delivered again."""

    def __init__(self, error: WaitstateError) -> None:
        super().__init__(error.message)
        self.error = error


class Refused(Interruption):
    """The code does not match the journal, or uses the context incorrectly; the run fails with this error."""

    def __init__(self, error: WaitstateError) -> None:
        super().__init__(error.message)
        self.error = error
