"""Operations are generators that yield effects, so that sync and async agents share their code."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Generator, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True)
class Effect:
    """A call that an operation needs: of the agent's own function, or one that blocks, such as a request."""

    call: Callable[[], Any]
    is_agent_code: bool = False


#: An operation; it returns its result.
Operation = Generator[Effect, Any, T]


def run_sync(operation: Operation[T]) -> T:
    """Runs an operation of a sync agent."""
    try:
        effect = next(operation)
        while True:
            try:
                value = effect.call()
            except BaseException as error:
                effect = operation.throw(error)
            else:
                effect = operation.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


async def run_async(operation: Operation[T]) -> T:
    """Runs an operation of an async agent; requests do not block its event loop."""
    try:
        effect = next(operation)
        while True:
            try:
                value = await _call_async(effect)
            except BaseException as error:
                effect = operation.throw(error)
            else:
                effect = operation.send(value)
    except StopIteration as stop:
        return cast(T, stop.value)


async def _call_async(effect: Effect) -> Any:
    if not effect.is_agent_code:
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, effect.call)
    value = effect.call()
    return await value if inspect.isawaitable(value) else value
