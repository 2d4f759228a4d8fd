"""Executes one invocation of an agent."""

from __future__ import annotations

import copy
import traceback
from typing import Any, Dict, List, Mapping, Optional

from .agent import Agent
from .context import AsyncContext, Context
from .errors import WaitstateError
from .interruptions import Ending, Interruption, Lost, Refused, Suspended, Unreachable, Yielded
from .invocation import Invocation
from .operations import Operations
from .values import encode

_MAX_MESSAGE = 10_000

#: How an invocation ended: "suspended", "yielded", "finished", or "lost" if another process has the run.
Outcome = str


def execute(agents: Mapping[str, Agent], invocation: Invocation) -> Outcome:
    """Runs the agent until its run suspends or ends. Raises only if Waitstate cannot be reached."""
    agent = agents.get(invocation.agent)
    if agent is None:
        known = ", ".join(sorted(agents))
        message = f'Expected a run of one of the agents {known}; found agent "{invocation.agent}".'
        raise WaitstateError("AGENT_NOT_FOUND", message)
    try:
        return _execute(agent, invocation)
    except Lost:
        return "lost"
    except Unreachable as unreachable:
        raise unreachable.error from None


def _execute(agent: Agent, invocation: Invocation) -> Outcome:
    if invocation.status == "ENDING" and not _can_undo(invocation):
        return _stop(None, invocation)
    try:
        operations = Operations(invocation, agent)
    except Exception as error:  # The function that makes the first state.
        traceback.print_exc()
        return _fail(None, invocation, error)
    try:
        result = _run(agent, operations, invocation)
        if operations.interruption is not None:  # The agent caught it.
            raise operations.interruption
        invocation.journal.check_end()
        doc = encode(result, "The result of the agent")
    except Interruption as interruption:
        return _interrupted(operations, invocation, operations.interruption or interruption)
    except Exception as error:
        if operations.interruption is not None:
            return _interrupted(operations, invocation, operations.interruption)
        traceback.print_exc()
        return _fail(operations, invocation, error)
    try:
        operations.finish({"status": "SUCCEEDED", "result": doc})
    except Ending:
        return _stop(operations, invocation)
    return "finished"


def _run(agent: Agent, operations: Operations, invocation: Invocation) -> Any:
    given = copy.deepcopy(invocation.input)
    if agent.is_async:
        import asyncio

        coroutine: Any = agent.run(AsyncContext(operations), given)
        return asyncio.run(coroutine)
    return agent.run(Context(operations), given)


def _interrupted(operations: Operations, invocation: Invocation, interruption: BaseException) -> Outcome:
    if isinstance(interruption, Suspended):
        return "suspended"
    if isinstance(interruption, Yielded):
        return "yielded"
    if isinstance(interruption, Ending):
        return _stop(operations, invocation)
    if isinstance(interruption, Refused):
        print(f"{interruption.error.code}: {interruption.error.message}", flush=True)
        return _fail(operations, invocation, interruption.error)
    raise interruption


def _fail(operations: Optional[Operations], invocation: Invocation, error: Exception) -> Outcome:
    """Undoes the completed steps and fails the run. A retry of the run resumes at the operation that failed."""
    fields: Dict[str, Any] = {}
    not_undone: List[str] = []
    try:
        is_refused = isinstance(error, WaitstateError) and error.code in ("STEP_MISMATCH", "AGENT_MISUSED")
        if operations is not None and not is_refused:
            not_undone, first = operations.undo_all()
            fields = _forget(invocation, [error.position if isinstance(error, WaitstateError) else None, first], first)
        failure = {"name": _name_of(error), "message": _message_of(error, not_undone)}
        request = {**fields, "status": "FAILED", "error": failure}
        operations.finish(request) if operations else invocation.write("finish", request)
    except Ending:
        return _stop(operations, invocation)
    return "finished"


def _forget(invocation: Invocation, positions: List[Optional[int]], first_undone: Optional[int]) -> Dict[str, Any]:
    known = [position for position in positions if position is not None]
    if not known:
        return {}
    forgotten = invocation.journal.truncate(min(known) - 1)
    epoch = {"toolResults": invocation.journal.next_epoch()} if first_undone is not None else {}
    return {"forgetToolResults": forgotten, **epoch}


def _stop(operations: Optional[Operations], invocation: Invocation) -> Outcome:
    """Ends a run that was cancelled or timed out, after its completed steps are undone."""
    invocation.refresh()
    invocation.stop_reason = None
    not_undone = operations.undo_all()[0] if operations is not None else []
    message = _message_of(Exception("The run was ended from outside."), not_undone)
    invocation.write("finish", {"status": "FAILED", "error": {"message": message}})
    return "finished"


def _can_undo(invocation: Invocation) -> bool:
    return any(entry.get("undo") for entry in invocation.journal.entries)


def _name_of(error: Exception) -> str:
    return error.code if isinstance(error, WaitstateError) else type(error).__name__


def _message_of(error: Exception, not_undone: List[str]) -> str:
    text = str(error) or type(error).__name__
    if not_undone:
        text += f" These steps could not be undone: {', '.join(not_undone)}."
    return text[:_MAX_MESSAGE]
