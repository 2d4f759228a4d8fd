"""How the client reaches Waitstate: over HTTP, or through the `checkpoint` function."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from typing import Any, Callable, Dict, Mapping, Protocol, TypeVar
from urllib.parse import urlsplit

from .errors import WaitstateError

T = TypeVar("T")

#: The codes of failures that may pass; the request may or may not have been applied.
RETRYABLE_CODES = frozenset({"STORAGE_UNAVAILABLE", "TIMED_OUT", "UNEXPECTED", "UNREACHABLE", "THROTTLED"})

#: How long a request may take. It is more than the server waits for a run to claim.
TIMEOUT_SECONDS = 40

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
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


def opener_for(url: str) -> urllib.request.OpenerDirector:
    """Opens URLs of this host; a server on this machine is reached without a proxy."""
    handlers = [urllib.request.ProxyHandler({})] if urlsplit(url).hostname in _LOOPBACK else []
    return urllib.request.build_opener(*handlers)


def download(url: str) -> Dict[str, Any]:
    """Downloads content that is too large for an event or a response."""

    def send(_: int) -> Dict[str, Any]:
        try:
            with opener_for(url).open(url, timeout=TIMEOUT_SECONDS) as response:
                content: Dict[str, Any] = json.load(response)
                return content
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            # The query of the URL has its signature, which must not get into logs.
            message = f"The content of the run was not downloaded from {url.split('?')[0]}: {error}"
            raise WaitstateError("UNREACHABLE", message) from error

    return with_retries(send)
