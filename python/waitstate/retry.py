"""When a failed step is retried: exponential backoff with jitter."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Optional

from .durations import Duration, to_milliseconds
from .errors import FatalError, RetryableError, WaitstateError, invalid_input

# A retry cannot fix wrong code or input, and must not follow an unknown outcome.
_PERMANENT = {"INVALID_INPUT", "UNSUPPORTED_VALUE", "RECORD_TOO_LARGE", "AGENT_MISUSED", "OUTCOME_UNKNOWN"}


@dataclass(frozen=True)
class RetryPolicy:
    """How often and when a failed step runs again."""

    #: The maximum number of attempts, including the first one.
    max_attempts: int = 3
    #: The delay after the first failure.
    initial_delay: Duration = field(default_factory=lambda: {"seconds": 1})
    #: The factor by which the delay grows with each failure.
    backoff_rate: float = 2
    #: The maximum delay.
    max_delay: Duration = field(default_factory=lambda: {"minutes": 5})

    def __post_init__(self) -> None:
        if isinstance(self.max_attempts, bool) or not isinstance(self.max_attempts, int) or self.max_attempts < 1:
            raise invalid_input("`max_attempts`", "a whole number from 1", self.max_attempts)
        if not 1 <= self.backoff_rate <= 100:
            raise invalid_input("`backoff_rate`", "a number from 1 to 100", self.backoff_rate)
        to_milliseconds("`initial_delay`", self.initial_delay)
        to_milliseconds("`max_delay`", self.max_delay)

    def delay_ms(self, error: BaseException, failures: int) -> Optional[int]:
        """The delay before the next attempt; None if the step must not be retried."""
        if failures >= self.max_attempts or isinstance(error, FatalError):
            return None
        if isinstance(error, WaitstateError) and error.code in _PERMANENT:
            return None
        if isinstance(error, RetryableError) and error.retry_after is not None:
            return to_milliseconds("`retry_after`", error.retry_after)
        initial = to_milliseconds("`initial_delay`", self.initial_delay)
        longest = to_milliseconds("`max_delay`", self.max_delay)
        # The exponent is limited, because a float overflows.
        grown = initial * self.backoff_rate ** min(failures - 1, 100)
        return round(min(longest, grown) * (0.5 + random.random() / 2))
