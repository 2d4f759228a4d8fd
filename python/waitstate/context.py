"""The context of an agent: its durable operations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Awaitable, Callable, Coroutine, Mapping, Optional, TypeVar, Union

from .agent import Agent
from .context_operations import ContextBase, Facts
from .decision import Answer, Decision
from .durations import Duration
from .effects import Operation, run_async, run_sync
from .retry import RetryPolicy
from .step_context import StepContext

T = TypeVar("T")
A = TypeVar("A")


class Context(ContextBase[Decision, Answer, Facts]):
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


class AsyncContext(
    ContextBase[Coroutine[Any, Any, Decision], Coroutine[Any, Any, Answer], Union[Facts, Awaitable[Facts]]]
):
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
