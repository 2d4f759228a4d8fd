"""The operations of a context as generators, with the names and options that agents use."""

from __future__ import annotations

import dataclasses
import random
import uuid
from functools import partial
from typing import Any, Callable, Generic, List, Mapping, Optional, TypeVar, Union

from .agent import Agent
from .decision import Answer, Decision, to_answer, to_approval_request, to_decision
from .durations import Duration
from .effects import Operation
from .errors import agent_misused, invalid_input
from .journal import hash_of
from .operations import Operations
from .step_context import StepContext, call_with
from .values import as_recorded, decode, encode

#: The values that a decision depends on.
Facts = Mapping[str, Any]

# What `approval` and `ask` return, and what `recheck` returns: an async context returns coroutines.
DecisionT = TypeVar("DecisionT")
AnswerT = TypeVar("AnswerT")
RecheckT = TypeVar("RecheckT")


class ContextBase(Generic[DecisionT, AnswerT, RecheckT]):
    """What sync and async contexts share."""

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._invocation = operations.invocation

    @property
    def run(self) -> str:
        """The id of the run."""
        return self._invocation.run

    @property
    def tenant(self) -> str:
        """The tenant of the run."""
        return self._invocation.tenant

    @property
    def agent(self) -> str:
        """The name of the agent."""
        return self._invocation.agent

    @property
    def requested_by(self) -> Optional[str]:
        """The person who requested the run, if it was started with one."""
        return self._invocation.requested_by

    @property
    def state(self) -> Any:
        """A copy of the state at this point of the agent; change it with `update`."""
        return self._operations.state

    def random(self) -> float:
        """A number from 0 to 1; a replay returns the same."""
        return random.Random(self._operations.derive("random")).random()

    def uuid(self) -> str:
        """A UUID; a replay returns the same."""
        return str(uuid.UUID(self._operations.derive("uuid")[:32], version=4))

    def log(self, message: str, **fields: Any) -> None:
        """Prints a line; a replay does not print it again."""
        if not self._invocation.journal.is_replaying:
            print(" ".join([message, *(f"{name}={value!r}" for name, value in fields.items())]), flush=True)

    def emit(self, event: Any) -> None:
        """Emits an event of the run, for user interfaces and logs; it is recorded once, with the next checkpoint."""
        self._operations.emit(encode(event, "The event"))

    def _run(self, what: str, operation: Operation[Any]) -> Any:
        """Runs an operation; an async context returns a coroutine that does so."""
        raise NotImplementedError

    def approval(
        self,
        name: str,
        *,
        title: Union[str, Callable[[Facts], str]],
        approvers: List[str],
        show: Any = None,
        quorum: Optional[int] = None,
        timeout: Optional[Duration] = None,
        remind_after: Optional[Duration] = None,
        escalate_to: Optional[List[str]] = None,
        escalate_after: Optional[Duration] = None,
        on_timeout: Optional[str] = None,
        open_groups: Optional[bool] = None,
        exclude_requester: Optional[bool] = None,
        editable: Union[bool, Mapping[str, Any], None] = None,
        facts: Optional[Facts] = None,
        recheck: Optional[Callable[[], RecheckT]] = None,
        same: Optional[Callable[[Facts, Facts], bool]] = None,
        max_requests: int = 3,
        key: Optional[str] = None,
    ) -> DecisionT:
        """Requests an approval and suspends the run until it is decided."""
        options = {
            "show": show,
            "quorum": quorum,
            "timeout": timeout,
            "remind_after": remind_after,
            "escalate_to": escalate_to,
            "escalate_after": escalate_after,
            "on_timeout": on_timeout,
            "open_groups": open_groups,
            "exclude_requester": exclude_requester,
            "editable": editable,
            "facts": facts,
        }
        operation = self._approval(name, title, approvers, key, recheck, same, max_requests, **options)
        returned: DecisionT = self._run(f'ctx.approval("{name}")', operation)
        return returned

    def ask(
        self,
        name: str,
        *,
        title: str,
        approvers: List[str],
        choices: Optional[List[Any]] = None,
        multiple: Optional[bool] = None,
        text: Union[bool, Mapping[str, Any], None] = None,
        answer_schema: Optional[Mapping[str, Any]] = None,
        show: Any = None,
        quorum: Optional[int] = None,
        timeout: Optional[Duration] = None,
        remind_after: Optional[Duration] = None,
        escalate_to: Optional[List[str]] = None,
        escalate_after: Optional[Duration] = None,
        on_timeout: Optional[str] = None,
        open_groups: Optional[bool] = None,
        exclude_requester: Optional[bool] = None,
        key: Optional[str] = None,
    ) -> AnswerT:
        """Asks for one of `choices`, a text, or what a JSON Schema describes; suspends the run until it is answered."""
        options = {
            "choices": choices,
            "multiple": multiple,
            "text": text,
            "answer_schema": answer_schema,
            "show": show,
            "quorum": quorum,
            "timeout": timeout,
            "remind_after": remind_after,
            "escalate_to": escalate_to,
            "escalate_after": escalate_after,
            "on_timeout": on_timeout,
            "open_groups": open_groups,
            "exclude_requester": exclude_requester,
        }
        operation = self._ask(name, title, approvers, key, **options)
        returned: AnswerT = self._run(f'ctx.ask("{name}")', operation)
        return returned

    # The operations; sync and async contexts run them.

    def _step(self, name: str, work: Callable[..., Any], key: Optional[str], **options: Any) -> Operation[Any]:
        if not callable(work):
            raise agent_misused(f'ctx.step("{name}", …) needs a function; found {type(work).__name__}.')
        id = self._invocation.journal.identify(name, key)
        return (
            yield from self._operations.step("step", id, lambda step: call_with(work, step), **_step_options(options))
        )

    def _tool(
        self, name: str, args: Any, work: Callable[..., Any], call_id: Optional[str], **options: Any
    ) -> Operation[Any]:
        if not callable(work):
            raise agent_misused(f'ctx.tool("{name}", args, …) needs a function; found {type(work).__name__}.')
        doc = encode(args, f"The arguments of tool {name}")
        id = self._invocation.journal.identify(name, call_id)

        def call(step: StepContext) -> Any:
            return call_with(work, decode(doc), step)

        return (yield from self._operations.step("tool", id, call, hash=hash_of(doc), **_step_options(options)))

    def _approval(
        self,
        name: str,
        title: Any,
        approvers: Any,
        key: Optional[str],
        recheck: Optional[Callable[[], Any]],
        same: Optional[Callable[[Any, Any], bool]],
        max_requests: int,
        **options: Any,
    ) -> Operation[Decision]:
        operations, journal = self._operations, self._invocation.journal
        if recheck is not None and options.get("facts") is None:
            raise invalid_input("`recheck`", "given together with `facts`", "no facts")
        facts = None if options.get("facts") is None else as_recorded(dict(options["facts"]), "facts")
        id = journal.identify(name, key)
        for count in range(1, max_requests + 1):
            request = to_approval_request(name, title, approvers, {**options, "facts": facts})
            item = yield from operations.approval(id if count == 1 else f"{id}/request{count}", name, request)
            decision = to_decision(item, facts, count)
            if not decision.approved or recheck is None:
                return decision
            now = yield from operations.step("step", f"{id}/recheck{count}", partial(call_with, recheck))
            if same(facts, now) if same else facts == now:
                return decision
            facts = now
        comment = f"Requested {max_requests} times; after each approval the facts had changed."
        return dataclasses.replace(decision, approved=False, status="CHANGED", comment=comment)

    def _ask(self, name: str, title: str, approvers: Any, key: Optional[str], **options: Any) -> Operation[Answer]:
        given = [option for option in ("choices", "text", "answer_schema") if options.get(option) is not None]
        if len(given) != 1:
            raise invalid_input("`ctx.ask`", "called with exactly one of choices, text and answer_schema", given)
        request = to_approval_request(name, title, approvers, options)
        id = self._invocation.journal.identify(name, key)
        return to_answer((yield from self._operations.approval(id, name, request, "ask")))

    def _sleep(self, name: str, duration: Duration) -> Operation[None]:
        yield from self._operations.sleep(self._invocation.journal.identify(name), duration)

    def _call(self, agent: Union[str, Agent], input: Any, key: Optional[str], id: Optional[str]) -> Operation[Any]:
        name = agent.name if isinstance(agent, Agent) else agent
        request = {"agent": name, "input": encode(input, "The input"), **({"run": id} if id else {})}
        return (yield from self._operations.call(self._invocation.journal.identify(name, key), request))

    def _wait_for_signal(self, name: str, timeout: Optional[Duration]) -> Operation[Any]:
        id = self._invocation.journal.identify(name)
        found = yield from self._operations.wait_for_signal(id, name, timeout)
        return None if found is None else decode(found.get("value"))


def _step_options(options: Mapping[str, Any]) -> Mapping[str, Any]:
    undo = options.get("undo")
    if undo is None:
        return options
    return {**options, "undo": lambda result, step: call_with(undo, result, step)}
