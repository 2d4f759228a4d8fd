"""The context of an agent: its durable operations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Awaitable, Callable, List, Mapping, Optional, TypeVar, Union

from .agent import Agent
from .context_operations import ContextBase
from .decision import Answer, Decision
from .durations import Duration
from .effects import Operation, run_async, run_sync
from .retry import RetryPolicy
from .step_context import StepContext

T = TypeVar("T")
A = TypeVar("A")

#: The values that a decision depends on.
Facts = Mapping[str, Any]


class Context(ContextBase):
    """The durable operations of a sync agent. Every result is recorded before the agent gets it."""

    def _run(self, what: str, operation: Operation[T]) -> T:
        with self._operations.entered(what):
            result: T = run_sync(operation)
            return result

    def step(
        self,
        name: str,
        work: Union[Callable[[StepContext], T], Callable[[], T]],
        *,
        key: Optional[str] = None,
        retry: Optional[RetryPolicy] = None,
        at_most_once: bool = False,
        undo: Optional[Callable[..., Any]] = None,
        model: Optional[Mapping[str, Any]] = None,
    ) -> T:
        """Runs a function and records its result; a replay returns the recorded result without running it again."""
        options = {"retry": retry, "at_most_once": at_most_once, "undo": undo, "model": model}
        result: T = self._run(f'ctx.step("{name}")', self._step(name, work, key, **options))
        return result

    def tool(
        self,
        name: str,
        args: A,
        work: Union[Callable[[A, StepContext], T], Callable[[A], T]],
        *,
        call_id: Optional[str] = None,
        retry: Optional[RetryPolicy] = None,
        at_most_once: bool = False,
        undo: Optional[Callable[..., Any]] = None,
        model: Optional[Mapping[str, Any]] = None,
        cache: bool = False,
    ) -> T:
        """Runs a tool call of a model as a step; `call_id` is the id that the model gave the call."""
        options = {"retry": retry, "at_most_once": at_most_once, "undo": undo, "model": model, "cache": cache}
        result: T = self._run(f'ctx.tool("{name}")', self._tool(name, args, work, call_id, **options))
        return result

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
        recheck: Optional[Callable[[], Facts]] = None,
        same: Optional[Callable[[Facts, Facts], bool]] = None,
        max_requests: int = 3,
        key: Optional[str] = None,
    ) -> Decision:
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
        return self._run(f'ctx.approval("{name}")', operation)

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
    ) -> Answer:
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
        return self._run(f'ctx.ask("{name}")', operation)

    def sleep(self, name: str, duration: Duration) -> None:
        """Waits; for more than a few seconds, the run is suspended and no process runs."""
        self._run(f'ctx.sleep("{name}")', self._sleep(name, duration))

    def wait_for_signal(self, name: str, *, timeout: Optional[Duration] = None) -> Any:
        """Waits for the next signal of this name; None if it does not arrive in time."""
        return self._run(f'ctx.wait_for_signal("{name}")', self._wait_for_signal(name, timeout))

    def call(
        self, agent: Union[str, Agent], input: Any = None, *, key: Optional[str] = None, id: Optional[str] = None
    ) -> Any:
        """Starts another agent as a child run and waits for its result; raises RUN_FAILED if it fails."""
        name = agent.name if isinstance(agent, Agent) else agent
        return self._run(f'ctx.call("{name}")', self._call(agent, input, key, id))

    def update(self, edit: Callable[[Any], Any]) -> Any:
        """Changes the state and returns it; `edit` changes the draft that it gets, or returns another state."""
        return self._run("ctx.update()", self._operations.update(edit))

    def now(self) -> datetime:
        """The current time; recorded, so that a replay returns the same."""
        return self._run("ctx.now()", self._operations.now())

    def checkpoint(self, name: str) -> None:
        """Saves a checkpoint that you can find by this name."""
        self._run(f'ctx.checkpoint("{name}")', self._operations.checkpoint(name))


class AsyncContext(ContextBase):
    """The durable operations of an async agent. Every result is recorded before the agent gets it."""

    async def _run(self, what: str, operation: Operation[T]) -> T:
        with self._operations.entered(what):
            result: T = await run_async(operation)
            return result

    async def step(
        self,
        name: str,
        work: Union[
            Callable[[StepContext], Awaitable[T]],
            Callable[[], Awaitable[T]],
            Callable[[StepContext], T],
            Callable[[], T],
        ],
        *,
        key: Optional[str] = None,
        retry: Optional[RetryPolicy] = None,
        at_most_once: bool = False,
        undo: Optional[Callable[..., Any]] = None,
        model: Optional[Mapping[str, Any]] = None,
    ) -> T:
        """Runs a function and records its result; a replay returns the recorded result without running it again."""
        options = {"retry": retry, "at_most_once": at_most_once, "undo": undo, "model": model}
        result: T = await self._run(f'ctx.step("{name}")', self._step(name, work, key, **options))
        return result

    async def tool(
        self,
        name: str,
        args: A,
        work: Union[
            Callable[[A, StepContext], Awaitable[T]],
            Callable[[A], Awaitable[T]],
            Callable[[A, StepContext], T],
            Callable[[A], T],
        ],
        *,
        call_id: Optional[str] = None,
        retry: Optional[RetryPolicy] = None,
        at_most_once: bool = False,
        undo: Optional[Callable[..., Any]] = None,
        model: Optional[Mapping[str, Any]] = None,
        cache: bool = False,
    ) -> T:
        """Runs a tool call of a model as a step; `call_id` is the id that the model gave the call."""
        options = {"retry": retry, "at_most_once": at_most_once, "undo": undo, "model": model, "cache": cache}
        result: T = await self._run(f'ctx.tool("{name}")', self._tool(name, args, work, call_id, **options))
        return result

    async def approval(
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
        recheck: Optional[Callable[[], Union[Facts, Awaitable[Facts]]]] = None,
        same: Optional[Callable[[Facts, Facts], bool]] = None,
        max_requests: int = 3,
        key: Optional[str] = None,
    ) -> Decision:
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
        return await self._run(f'ctx.approval("{name}")', operation)

    async def ask(
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
    ) -> Answer:
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
        return await self._run(f'ctx.ask("{name}")', operation)

    async def sleep(self, name: str, duration: Duration) -> None:
        """Waits; for more than a few seconds, the run is suspended and no process runs."""
        await self._run(f'ctx.sleep("{name}")', self._sleep(name, duration))

    async def wait_for_signal(self, name: str, *, timeout: Optional[Duration] = None) -> Any:
        """Waits for the next signal of this name; None if it does not arrive in time."""
        return await self._run(f'ctx.wait_for_signal("{name}")', self._wait_for_signal(name, timeout))

    async def call(
        self, agent: Union[str, Agent], input: Any = None, *, key: Optional[str] = None, id: Optional[str] = None
    ) -> Any:
        """Starts another agent as a child run and waits for its result; raises RUN_FAILED if it fails."""
        name = agent.name if isinstance(agent, Agent) else agent
        return await self._run(f'ctx.call("{name}")', self._call(agent, input, key, id))

    async def update(self, edit: Callable[[Any], Any]) -> Any:
        """Changes the state and returns it; `edit` changes the draft that it gets, or returns another state."""
        return await self._run("ctx.update()", self._operations.update(edit))

    async def now(self) -> datetime:
        """The current time; recorded, so that a replay returns the same."""
        return await self._run("ctx.now()", self._operations.now())

    async def checkpoint(self, name: str) -> None:
        """Saves a checkpoint that you can find by this name."""
        await self._run(f'ctx.checkpoint("{name}")', self._operations.checkpoint(name))
