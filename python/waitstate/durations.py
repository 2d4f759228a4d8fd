"""Durations: a `timedelta`, or a mapping such as `{"hours": 1, "minutes": 30}`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Dict, Mapping, Union

from .waitstate_error import invalid_input

#: A length of time.
Duration = Union[timedelta, Mapping[str, float]]

_UNITS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000, "milliseconds": 1}
_MAX_MS = 3_162_240_000_000  # 100 years of 366 days, as the server accepts


def to_milliseconds(argument: str, duration: Any) -> int:
    """The duration in milliseconds; refuses an invalid one."""
    total = _total(duration)
    if total is None or not 0 <= total <= _MAX_MS:
        raise invalid_input(
            argument, 'a duration up to 100 years, such as {"hours": 12} or timedelta(hours=12)', duration
        )
    return round(total)


def to_wire(argument: str, duration: Duration) -> Dict[str, int]:
    """The duration as the server expects it."""
    return {"milliseconds": to_milliseconds(argument, duration)}


def _total(duration: Any) -> Union[float, None]:
    if isinstance(duration, timedelta):
        return duration / timedelta(milliseconds=1)
    if not isinstance(duration, Mapping) or not duration:
        return None
    total = 0.0
    for part, value in duration.items():
        if part not in _UNITS or isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        total += _UNITS[part] * value
    return total
