"""Defines agents."""

from __future__ import annotations

import inspect
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Optional, Union, overload

from .errors import invalid_input
from .retry import RetryPolicy

#: Notifies the approvers of a request; it is called again later if it raises.
Notify = Callable[[Mapping[str, Any]], Any]


class Agent:
    """An agent: a function with a name, which resumes by replay."""

    def __init__(
        self,
        run: Callable[..., Union[Any, Awaitable[Any]]],
        name: str,
        *,
        description: Optional[str] = None,
        example: Any = None,
        state: Optional[Callable[[Any], Any]] = None,
        retry: Optional[RetryPolicy] = None,
        notify: Optional[Notify] = None,
    ) -> None:
        if not isinstance(name, str) or not 1 <= len(name) <= 256:
            raise invalid_input("The name of an agent", "text of 1 to 256 characters", name)
        self.run = run
        self.name = name
        self.description = description
        self.example = example
        self.state = state
        self.retry = retry or RetryPolicy()
        self.notify = notify
        self.is_async = inspect.iscoroutinefunction(run)
        self.__doc__ = run.__doc__

    def call_function(self, call: Callable[[], Any]) -> Any:
        """Calls a function of the agent that may be async."""
        value = call()
        if not inspect.isawaitable(value):
            return value
        import asyncio  # takes a tenth of a second to load, and most agents do not need it

        return asyncio.run(_awaited(value))

    def describe(self) -> Dict[str, Any]:
        """What the local server shows about the agent."""
        known = {"description": self.description, "example": self.example}
        given = {name: value for name, value in known.items() if value is not None}
        return {"name": self.name, **given, "notifies": self.notify is not None}

    def handler(self) -> Callable[[Any, Any], Any]:
        """The handler of the Lambda function that executes the runs of this agent."""
        from .lambda_handler import lambda_handler

        return lambda_handler(self)


Define = Callable[[Callable[..., Any]], Agent]


@overload
def agent(function: Callable[..., Any]) -> Agent: ...


@overload
def agent(
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    example: Any = None,
    state: Optional[Callable[[Any], Any]] = None,
    retry: Optional[RetryPolicy] = None,
    notify: Optional[Notify] = None,
) -> Define: ...


def agent(
    function: Optional[Callable[..., Any]] = None,
    *,
    name: Optional[str] = None,
    description: Optional[str] = None,
    example: Any = None,
    state: Optional[Callable[[Any], Any]] = None,
    retry: Optional[RetryPolicy] = None,
    notify: Optional[Notify] = None,
) -> Union[Agent, Define]:
    """Makes an agent of a function `run(ctx, input)`; its name is that of the function unless you pass another one."""

    def define(run: Callable[..., Any]) -> Agent:
        options: Dict[str, Any] = {
            "description": description,
            "example": example,
            "state": state,
            "retry": retry,
            "notify": notify,
        }
        defined = Agent(run, name or run.__name__, **options)
        _defined.append(defined)
        return defined

    return define(function) if function is not None else define


_defined: List[Agent] = []


def by_name(agents: "tuple[Agent, ...]") -> Dict[str, Agent]:
    """The agents by their names; all that the program defined if none are given."""
    found = agents or tuple(_defined)
    if not found:
        raise invalid_input("The program", "a program that defines an agent with @agent", "no agent")
    for each in found:
        if not isinstance(each, Agent):
            raise invalid_input("Each agent", "a function with @agent", each)
    return {each.name: each for each in found}


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
