"""The HTTP API of Waitstate."""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Mapping, Optional
from urllib.parse import urlencode

from .errors import WaitstateError, to_error
from .transport import TIMEOUT_SECONDS, download, opener_for, with_retries

#: The headers that authenticate a request; it is called for each request, with its method, URL and body.
Authenticate = Callable[[str, str, bytes], Mapping[str, str]]

_ROUTES = {
    "save": "checkpoints",
    "requestApproval": "approvals",
    "waitForSignal": "waits",
    "sleep": "waits",
    "call": "waits",
    "finish": "finish",
}


class Api:
    """Sends requests to the HTTP API; a lost response is requested again with the same idempotency key."""

    def __init__(
        self, url: Optional[str] = None, key: Optional[str] = None, auth: Optional[Authenticate] = None
    ) -> None:
        found = {} if url else find_server()
        self.url = (url or found["url"]).rstrip("/")
        key = key or (found or os.environ).get("key" if found else "WAITSTATE_KEY")
        self._auth: Authenticate = auth or (lambda *_: {"authorization": f"Bearer {key}"} if key else {})
        self._opener = opener_for(self.url)

    def perform(self, action: str, tenant: str, run: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Performs an action of the protocol. The tenant is that of the key."""
        if action == "load":
            query = {name: fields[name] for name in ("version", "name") if name in fields}
            return self.load(f"/api/runs/{path_of(run)}/load", query)
        if action == "upload":
            return self.post(f"/api/runs/{path_of(run)}/uploads", {})
        body = {name: value for name, value in fields.items() if name not in ("expectedVersion", "writeId")}
        headers = {"if-match": f'"{fields["expectedVersion"]}"'}
        return self.post(
            f"/api/runs/{path_of(run)}/{_ROUTES[action]}", body, key=fields.get("writeId"), headers=headers
        )

    def load(self, path: str, query: Mapping[str, Any]) -> Dict[str, Any]:
        """Gets a checkpoint. One that is too large for a response is downloaded."""
        loaded = self.get(path, query)
        if "contentUrl" in loaded:
            loaded = {**loaded, **download(loaded["contentUrl"])}
        return loaded

    def get(self, path: str, query: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
        """Gets JSON."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        full = f"{path}?{urlencode(given)}" if given else path
        return with_retries(lambda _: self.request("GET", full)) or {}

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        key: Optional[str] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Dict[str, Any]:
        """Posts JSON, with an idempotency key that is the same for each attempt."""
        sent = {"idempotency-key": key or str(uuid.uuid4()), **(headers or {})}
        return with_retries(lambda _: self.request("POST", path, body, sent)) or {}

    def request(
        self,
        method: str,
        path: str,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Optional[Dict[str, Any]]:
        """Sends one request once; None if the response has no content."""
        url = self.url + path
        data = b"" if body is None else json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        sent = {"accept": "application/json", **(headers or {})}
        if body is not None:
            sent["content-type"] = "application/json"
        request = urllib.request.Request(url, data=data if body is not None else None, method=method)
        for name, value in sent.items():
            request.add_header(name, value)
        for name, value in self._authenticate(method, url, data).items():
            # A redirect may lead to another host, which must not get the credentials.
            request.add_unredirected_header(name, value)
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                text = response.read()
                return None if response.status == 204 else json.loads(text)
        except urllib.error.HTTPError as error:
            raise _problem(error) from None
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            raise WaitstateError(
                "UNREACHABLE", f"No response of {self.url}: {error}. Is the server running?"
            ) from error

    def _authenticate(self, method: str, url: str, data: bytes) -> Mapping[str, str]:
        try:
            return self._auth(method, url, data)
        except WaitstateError:
            raise
        except Exception as error:
            message = f"`auth` must return the headers of a request; it raised {type(error).__name__}: {error}"
            raise WaitstateError("NOT_AUTHENTICATED", message) from error


def find_server() -> Dict[str, str]:
    """The URL and the key of the server: WAITSTATE_URL and WAITSTATE_KEY, or those of the local server."""
    url = os.environ.get("WAITSTATE_URL")
    if url:
        return {"url": url, "key": os.environ.get("WAITSTATE_KEY", "")}
    file = Path(os.environ.get("WAITSTATE_FOLDER", ".waitstate")) / "server.json"
    try:
        found = json.loads(file.read_text())
        return {"url": found["url"], "key": found["key"]}
    except (OSError, ValueError, KeyError):
        raise WaitstateError(
            "INVALID_INPUT",
            f"Expected the URL of a server in WAITSTATE_URL, or a local server that wrote {file}; found neither. "
            "Start `waitstate dev` in this folder, or set WAITSTATE_URL and WAITSTATE_KEY.",
        ) from None


def path_of(part: str) -> str:
    """An id as one part of a path."""
    if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", part):
        return part
    escaped = "".join(
        chr(byte) if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "-_") else f"~{byte:02X}"
        for byte in part.encode()
    )
    return f"~{escaped}"


def _problem(response: urllib.error.HTTPError) -> WaitstateError:
    try:
        problem = json.loads(response.read())
        code, detail = str(problem["code"]), str(problem.get("detail") or problem.get("title") or "")
    except (ValueError, KeyError, TypeError, OSError, http.client.HTTPException):
        problem, code, detail = {}, "", ""
    if response.code == 429:
        code = "THROTTLED"
    elif not code:
        code = "UNEXPECTED" if response.code >= 500 else f"HTTP_{response.code}"
    errors = "; ".join(_described(each) for each in problem.get("errors") or [])
    message = (
        detail if errors in detail else f"{detail} {errors}".strip()
    ) or f"The server answered with HTTP status {response.code}."
    return to_error(code, message, problem.get("found"))


def _described(error: Any) -> str:
    if not isinstance(error, Mapping):
        return str(error)
    return f"{error.get('path') or error.get('field') or 'request'}: {error.get('message') or error.get('detail')}"
