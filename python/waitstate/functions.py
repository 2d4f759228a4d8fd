"""The `checkpoint` function of a deployment, which agents on Lambda call."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional

from .errors import WaitstateError, to_error
from .transport import with_retries


class CheckpointFunction:
    """Performs actions of the protocol by invoking the `checkpoint` function."""

    def __init__(self, name: Optional[str] = None, client: Any = None) -> None:
        self._name = name or os.environ.get("WAITSTATE_CHECKPOINT_FUNCTION", "")
        self._client = client
        if not self._name:
            raise WaitstateError(
                "INVALID_INPUT",
                "Expected the name of the checkpoint function in WAITSTATE_CHECKPOINT_FUNCTION; found nothing. "
                "The construct sets it if you add the function with `addAgent`.",
            )

    def perform(self, action: str, tenant: str, run: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Performs an action; repeats it with the same fields if the response is lost."""
        request = {"waitstate": 1, "action": action, "tenant": tenant, "run": run, **fields}
        payload = json.dumps(request, separators=(",", ":"), allow_nan=False).encode()
        return with_retries(lambda _: self._invoke(payload))

    def _invoke(self, payload: bytes) -> Dict[str, Any]:
        client = self._connected()
        try:
            invoked = client.invoke(FunctionName=self._name, Payload=payload)
            response = json.load(invoked["Payload"])
        except Exception as error:
            code = _error_code(error)
            if code in ("AccessDeniedException", "ResourceNotFoundException", "RequestTooLargeException"):
                raise WaitstateError("CHECKPOINT_FUNCTION", f"{self._name} cannot be invoked: {error}") from error
            raise WaitstateError("UNREACHABLE", f"{self._name} did not respond: {error}") from error
        if isinstance(response, dict) and response.get("ok"):
            return response
        problem = (response or {}).get("error") if isinstance(response, dict) else None
        if not problem:
            raise WaitstateError("UNEXPECTED", f"{self._name} failed: {json.dumps(response)[:500]}")
        raise to_error(problem["code"], problem["message"], problem.get("found"))

    def _connected(self) -> Any:
        if self._client is None:
            import boto3  # part of Lambda's Python runtime

            self._client = boto3.client("lambda")
        return self._client


def _error_code(error: Exception) -> str:
    response = getattr(error, "response", None)
    return str((response or {}).get("Error", {}).get("Code", ""))
