"""The Lambda handler of agents: Waitstate invokes it with each run that is ready."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Mapping, Optional

from .agent import Agent, by_name
from .command import notify
from .execute import execute
from .functions import CheckpointFunction
from .invocation import Invocation
from .transport import Transport

# Lambda retries a failed asynchronous invocation after a minute or later.
_RETRY_AFTER_SECONDS = 20.0
_INVOCATION_LABEL = "invocation"


def lambda_handler(*agents: Agent, transport: Optional[Transport] = None) -> Callable[[Any, Any], Dict[str, Any]]:
    """The handler of a Lambda function that executes the runs of these agents."""
    known = by_name(agents)
    connected = transport

    def handle(event: Mapping[str, Any], context: Any = None) -> Dict[str, Any]:
        nonlocal connected
        if "notify" in event:
            notify(known, event)
            return {"outcome": "notified"}
        connected = connected or CheckpointFunction()
        invocation = _invocation(event, context, connected)
        return {"outcome": execute(known, invocation) if invocation else "lost"}

    return handle


def _invocation(event: Mapping[str, Any], context: Any, transport: Transport) -> Optional[Invocation]:
    remaining = getattr(context, "get_remaining_time_in_millis", None)
    deadline = time.time() + remaining() / 1000 if remaining else None
    request_id = str(getattr(context, "aws_request_id", "") or "")
    labels = {_INVOCATION_LABEL: request_id} if request_id else {}
    invocation = Invocation(event, transport, deadline, labels)
    if not _may_be_retry(invocation):
        return invocation
    # A retry gets the event of the first attempt, which may have saved steps since. It continues after them, unless
    # another invocation has the run.
    version = invocation.version
    invocation.reload()
    is_ours = bool(request_id) and invocation.checkpoint_labels.get(_INVOCATION_LABEL) == request_id
    is_unchanged = invocation.version == version
    return invocation if is_unchanged or is_ours or invocation.status == "ENDING" else None


def _may_be_retry(invocation: Invocation) -> bool:
    return invocation.claimed_at is not None and time.time() - invocation.claimed_at > _RETRY_AFTER_SECONDS
