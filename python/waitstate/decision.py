"""The decision on an approval."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Dict, List, Mapping, Optional

from .durations import to_wire
from .errors import invalid_input
from .invocation import to_datetime
from .values import decode, encode


@dataclass(frozen=True)
class Decision:
    """What the approvers decided."""

    approved: bool
    #: APPROVED, REJECTED, EXPIRED, WITHDRAWN, or CHANGED if the facts kept changing.
    status: str
    #: The people who decided.
    by: List[str] = field(default_factory=list)
    at: Optional[datetime] = None
    comment: Optional[str] = None
    #: What an approver changed, if the approval is editable.
    edits: Any = None
    #: The facts that the decision is based on: those of the last request.
    facts: Optional[Mapping[str, Any]] = None
    #: How many times the approval was requested; more than 1 if the facts changed.
    request_count: int = 1


@dataclass(frozen=True)
class Answer:
    """What people answered to a question."""

    answered: bool
    #: APPROVED if there is an answer; otherwise why not, such as REJECTED or EXPIRED.
    status: str
    #: A value of `choices`, a text, or what the schema describes; None without an answer.
    answer: Any = None
    #: The people who answered.
    by: List[str] = field(default_factory=list)
    at: Optional[datetime] = None
    comment: Optional[str] = None


def to_answer(item: Mapping[str, Any]) -> Answer:
    """The answer in an invocation event."""
    return Answer(
        answered=bool(item.get("answered")),
        status=item["status"],
        answer=decode(item.get("answer")),
        by=list(item.get("by") or []),
        at=to_datetime(item["at"]) if isinstance(item.get("at"), str) else None,
        comment=item.get("comment"),
    )


def to_decision(item: Mapping[str, Any], facts: Optional[Mapping[str, Any]], request_count: int) -> Decision:
    """The decision in an invocation event."""
    return Decision(
        approved=item["approved"],
        status=item["status"],
        by=list(item.get("by") or []),
        at=to_datetime(item["at"]) if isinstance(item.get("at"), str) else None,
        comment=item.get("comment"),
        edits=decode(item.get("edits")),
        facts=facts,
        request_count=request_count,
    )


_DURATIONS = {"timeout": "timeout", "remind_after": "remindAfter", "escalate_after": "escalateAfter"}
_OTHERS = {
    "quorum": "quorum",
    "escalate_to": "escalateTo",
    "on_timeout": "onTimeout",
    "open_groups": "openGroups",
    "exclude_requester": "excludeRequester",
    "choices": "choices",
    "multiple": "multiple",
    "text": "text",
    "answer_schema": "answerSchema",
}


def to_approval_request(name: str, title: Any, approvers: Any, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The request as the server expects it. A title or content that is a function is called with the facts."""
    facts = options.get("facts")
    if isinstance(approvers, str):
        raise invalid_input("`approvers`", 'a list such as ["user:ann"]', approvers)
    request: Dict[str, Any] = {
        "name": name,
        "title": title(facts or {}) if callable(title) else title,
        "approvers": list(approvers),
    }
    show = options.get("show")
    if show is not None:
        request["show"] = encode(show(facts or {}) if callable(show) else show, "show")
    if facts is not None:
        request["facts"] = {key: encode(value, f"facts.{key}") for key, value in facts.items()}
    editable = options.get("editable")
    if editable is not None:
        request["editable"] = bool(editable)
        if isinstance(editable, Mapping):
            request["editsSchema"] = editable
    for option, field_name in _DURATIONS.items():
        if options.get(option) is not None:
            request[field_name] = to_wire(f"`{option}`", options[option])
    for option, field_name in _OTHERS.items():
        if options.get(option) is not None:
            request[field_name] = options[option]
    return request
