"""The operations of a context, for sync and async agents."""

from __future__ import annotations

import copy
import re
import time
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from .durations import Duration, to_milliseconds, to_wire
from .effects import Effect, Operation
from .errors import StepFailed, WaitstateError, agent_misused, invalid_input
from .interruptions import Ending, Interruption, Lost, Refused, Suspended, Yielded
from .invocation import Invocation
from .journal import Entry
from .retry import RetryPolicy
from .step_context import StepContext, check_event
from .values import as_recorded, decode, encode

if TYPE_CHECKING:
    from .agent import Agent

# Waits up to this long stay in the process: suspending and starting it again would take longer.
_MAX_IN_PROCESS_WAIT_MS = 10_000
# An invocation with less time left continues in a new one, so that a step is not stopped in the middle.
_MIN_REMAINING_SECONDS = 10.0

Undo = Callable[[Any, StepContext], Any]


class Operations:
    """Runs or replays operations, one after the other, and records each result before the agent gets it."""

    def __init__(self, invocation: Invocation, agent: "Agent") -> None:
        self.invocation = invocation
        self.agent = agent
        self._interruption: Optional[BaseException] = None
        self._current: Optional[str] = None
        self._events: List[Any] = []
        self._derived = 0
        self._undos: Dict[str, Undo] = {}
        self._state: Any = (
            None if agent.state is None else as_recorded(agent.state(copy.deepcopy(invocation.input)), "state")
        )
        self._saves_state = agent.state is not None and invocation.stored_state is None
        self._has_caught_up = False

    # Entering and leaving operations

    @contextmanager
    def entered(self, what: str) -> Iterator[None]:
        """Marks an operation as current. An interruption ends the agent, even if its code catches it."""
        if self._interruption is not None:
            raise self._interruption
        if self._current is not None:
            raise self.interrupt(
                Refused(
                    agent_misused(
                        f"The code calls {what} while {self._current} is not complete. Operations run one at "
                        "a time, and never inside a step: move the call out of the step, and await each "
                        "operation before the next."
                    )
                )
            )
        self._current = what
        try:
            yield
        except Interruption as interruption:
            raise self.interrupt(interruption)
        except WaitstateError as error:
            if error.code in ("STEP_MISMATCH", "AGENT_MISUSED"):
                raise self.interrupt(Refused(error)) from None
            raise
        finally:
            self._current = None

    def interrupt(self, interruption: BaseException) -> BaseException:
        """Ends the agent: every later operation raises the same."""
        self._interruption = self._interruption or interruption
        return self._interruption

    @property
    def interruption(self) -> Optional[BaseException]:
        """What ended the agent, if anything did."""
        return self._interruption

    def _enter(self, kind: str, id: str, hash: Optional[str] = None) -> Optional[Entry]:
        entry = self.invocation.journal.enter(kind, id, hash)
        if entry is None:
            self._catch_up()
        return entry

    def _catch_up(self) -> None:
        # The replay has ended, and the run continues with the stored state, which an operator may have edited.
        if not self._has_caught_up and self.invocation.stored_state is not None:
            self._state = decode(self.invocation.stored_state)
        self._has_caught_up = True

    def _begin(self) -> Operation[None]:
        """Stops here instead of starting new work, if the invocation has to end."""
        self._catch_up()
        invocation = self.invocation
        if invocation.stop_reason == "lost":
            raise Lost("Another process has the run.")
        if invocation.stop_reason == "ending" or invocation.status == "ENDING":
            raise Ending("The run was ended from outside.")
        is_short = invocation.remaining_seconds < _MIN_REMAINING_SECONDS and invocation.has_progress
        if is_short:
            yield self._save({"status": "READY"})
            raise Yielded("The invocation has little time left.")
        if invocation.stop_reason == "yield":
            raise Yielded("The worker shuts down.")

    # Writing

    def _save(self, fields: Mapping[str, Any], action: str = "save") -> Effect:
        request = dict(fields)
        if self._saves_state:
            request["state"] = encode(self._state, "state")
        if self._events:
            request["events"] = self._events

        def write() -> Dict[str, Any]:
            response = self.invocation.write(action, request)
            self._saves_state = False
            self._events = []
            return response

        return Effect(write)

    def finish(self, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Ends the run."""
        response: Dict[str, Any] = self._save(fields, "finish").call()
        return response

    # Steps and tools

    def step(
        self,
        kind: str,
        id: str,
        work: Callable[[StepContext], Any],
        *,
        hash: Optional[str] = None,
        retry: Optional[RetryPolicy] = None,
        at_most_once: bool = False,
        undo: Optional[Undo] = None,
        model: Optional[Mapping[str, Any]] = None,
        cache: bool = False,
    ) -> Operation[Any]:
        """Returns the recorded result of a step, or runs the step and records its result."""
        journal = self.invocation.journal
        entry = self._enter(kind, id, hash)
        if undo is not None:
            self._undos[id] = undo
        if entry is None or not _has_settled(entry):
            entry = yield from self._run_step(
                {"kind": kind, "id": id, **({"hash": hash} if hash else {}), **(entry or {})},
                work,
                retry or self.agent.retry,
                at_most_once,
                undo is not None,
                model,
                cache,
            )
        if "error" in entry:
            error = entry["error"]
            raise self._failure(StepFailed(id, error["name"], error["message"], error["code"]))
        return decode(journal.results[entry.get("cached", id)])

    def _run_step(
        self,
        entry: Entry,
        work: Callable[[StepContext], Any],
        policy: RetryPolicy,
        at_most_once: bool,
        is_undoable: bool,
        model: Optional[Mapping[str, Any]],
        cache: bool,
    ) -> Operation[Entry]:
        journal = self.invocation.journal
        id = entry["id"]
        if cache:
            found = next((each for each in journal.entries if _is_cached(each, entry)), None)
            if found:
                entry = {**entry, "cached": found["id"]}
                yield self._save({"step": id, "toolResults": journal.record(entry)})
                return entry
        while True:
            failures = entry.get("failures", 0)
            if entry.get("startedAttempts", 0) > failures:
                return (yield from self._fail_step(entry, _outcome_unknown(id)))
            yield from self._wait_for_retry(entry)
            yield from self._begin()
            if at_most_once:
                entry = {**entry, "startedAttempts": failures + 1}
                yield self._save({"labels": {"note": f"start of {id}"}, "toolResults": journal.record(entry)})
            step = StepContext(self.invocation.idempotency_key(id), failures + 1)
            try:
                doc = encode((yield Effect(partial(work, step), is_agent_code=True)), f'The result of step "{id}"')
            except Exception as error:
                self._events += step.take_events()
                failed = {**entry, "failures": failures + 1}
                delay_ms = policy.delay_ms(error, failures + 1)
                if delay_ms is None:
                    return (yield from self._fail_step(failed, error))
                retry_at = int(time.time() * 1000) + delay_ms
                entry = {**failed, "retryAt": retry_at, "lastFailure": _text_of(error)[:300]}
                yield self._save({"labels": {"failed": id}, "toolResults": journal.record(entry)})
                continue
            self._events += step.take_events()
            settled: Entry = {name: entry[name] for name in ("kind", "id", "hash") if name in entry}
            settled["done"] = True
            if is_undoable:
                settled["undo"] = True
            results = {**journal.record(settled), id: doc}
            fields: Dict[str, Any] = {"step": id, "toolResults": results}
            if is_undoable:
                fields["undoable"] = [id]
            # Known before it is saved only here: if the run was cancelled, the result is saved and then undone.
            journal.results[id] = doc
            if model:
                fields["model"] = encode(dict(model), "model")
            try:
                yield self._save(fields)
            except WaitstateError as error:  # The result is too large, for example.
                journal.results.pop(id)
                self._events = []
                return (yield from self._fail_step(entry, error))
            return settled

    def _failure(self, error: WaitstateError) -> WaitstateError:
        error.position = self.invocation.journal.position
        return error

    def _refusal(self, entry: Entry) -> WaitstateError:
        return self._failure(WaitstateError(entry["error"]["code"], entry["error"]["message"]))

    def _fail_step(self, entry: Entry, error: Exception) -> Operation[Entry]:
        code = error.code if isinstance(error, WaitstateError) else "STEP_FAILED"
        recorded = {"name": type(error).__name__, "message": _text_of(error)[:2000], "code": code}
        failed: Entry = {name: entry[name] for name in ("kind", "id", "hash", "failures") if name in entry}
        failed["error"] = recorded
        fields = {"step": entry["id"], "labels": {"failed": entry["id"]}}
        yield self._save({**fields, "toolResults": self.invocation.journal.record(failed)})
        return failed

    def _wait_for_retry(self, entry: Entry) -> Operation[None]:
        wait_ms = entry.get("retryAt", 0) - time.time() * 1000
        if wait_ms <= 0:
            return
        if self._fits_in_process(wait_ms):
            yield Effect(lambda: self._pause(wait_ms))
            return
        yield from self._begin()
        request = {"sleep": f"retry {entry['id']}"[:200], "duration": {"milliseconds": max(1, round(wait_ms))}}
        response = yield self._save(request, "sleep")
        if response["suspended"]:
            raise Suspended(entry["id"])

    # Waits

    def sleep(self, id: str, duration: Duration) -> Operation[None]:
        """Waits: in this process for a few seconds, suspended for longer."""
        duration_ms = to_milliseconds("The duration of `ctx.sleep`", duration)
        journal = self.invocation.journal
        if not journal.is_replaying and self._fits_in_process(duration_ms):
            self._enter("sleep", id)
            yield from self._begin()
            yield Effect(lambda: self._pause(duration_ms))
            recorded = journal.record({"kind": "sleep", "id": id, "done": True})
            yield self._save({"labels": {"note": f"sleep {id}"}, "toolResults": recorded})
            return
        name = _without_count(id)
        request = {"sleep": name, "duration": {"milliseconds": duration_ms}}
        yield from self._wait("sleep", id, lambda: _named(self.invocation.sleeps, name), request, "sleep")

    def _fits_in_process(self, wait_ms: float) -> bool:
        remaining_ms = self.invocation.remaining_seconds * 1000
        return wait_ms <= _MAX_IN_PROCESS_WAIT_MS and wait_ms < remaining_ms - _MIN_REMAINING_SECONDS * 1000

    def _pause(self, wait_ms: float) -> None:
        end = time.monotonic() + wait_ms / 1000
        while self.invocation.stop_reason is None and time.monotonic() < end:
            time.sleep(min(0.2, max(0.0, end - time.monotonic())))
        if self.invocation.stop_reason == "yield":
            raise Yielded("The worker shuts down.")

    def wait_for_signal(
        self, id: str, name: str, timeout: Optional[Duration]
    ) -> Operation[Optional[Mapping[str, Any]]]:
        """The next signal of this name; None if it did not arrive in time."""
        if not isinstance(name, str) or not 1 <= len(name) <= 200:
            raise invalid_input("The name of a signal", "text of 1 to 200 characters", name)
        limit = {} if timeout is None else {"timeout": to_wire("`timeout`", timeout)}
        entry = yield from self._wait(
            "signal", id, lambda: _named(self.invocation.signals, name), {**limit, "signal": name}, "waitForSignal"
        )
        return None if entry.get("timedOut") else entry

    def approval(
        self, id: str, name: str, request: Mapping[str, Any], kind: str = "approval"
    ) -> Operation[Mapping[str, Any]]:
        """The decision on an approval, or the answer to a question."""
        entry = yield from self._wait(
            kind,
            id,
            lambda: _named(self.invocation.approvals, name),
            {"step": id, "approval": request},
            "requestApproval",
        )
        if entry.get("fails"):
            what = f'Question "{name}" was not answered' if kind == "ask" else f'Approval "{name}" was not decided'
            message = f'{what} before its deadline, and its `on_timeout` is "fail".'
            raise self._failure(WaitstateError("APPROVAL_EXPIRED", message))
        return entry

    def call(self, id: str, request: Mapping[str, Any]) -> Operation[Any]:
        """The result of a child run."""
        name = _without_count(id)
        entry = yield from self._wait(
            "call", id, lambda: _named(self.invocation.calls, name), {"call": {**request, "name": name}}, "call"
        )
        if entry["status"] == "SUCCEEDED":
            return decode(entry.get("result"))
        error = entry.get("error") or {}
        reason = f"{error.get('name', 'Error')}: {error.get('message', 'no reason was given')}"
        raise self._failure(WaitstateError("RUN_FAILED", f'Child run "{entry["run"]}" failed: {reason}'))

    def _wait(
        self,
        kind: str,
        id: str,
        arrived: Callable[[], List[Mapping[str, Any]]],
        request: Mapping[str, Any],
        action: str,
    ) -> Operation[Mapping[str, Any]]:
        """What the run waited for. Until it arrives, the run is suspended."""
        journal = self.invocation.journal
        entry = self._enter(kind, id)
        if entry is not None and "error" in entry:
            raise self._refusal(entry)
        if entry is not None and entry.get("done"):
            return entry
        if entry is not None and len(arrived()) > entry["nth"]:
            return arrived()[entry["nth"]]
        # Those that arrived before belong to earlier operations.
        entry = entry or {"kind": kind, "id": id, "nth": len(arrived())}
        yield from self._begin()
        try:
            response = yield self._save({**request, "toolResults": journal.record(entry)}, action)
        except WaitstateError as error:  # Recorded, so that a replay raises it again.
            raise self._refusal((yield from self._fail_step(entry, error))) from error
        if response["suspended"]:
            raise Suspended(id)
        yield Effect(self.invocation.refresh)
        return arrived()[entry["nth"]]

    # State and small operations

    @property
    def state(self) -> Any:
        """A copy of the state at this point of the agent."""
        return copy.deepcopy(self._state)

    def update(self, edit: Callable[[Any], Any]) -> Operation[Any]:
        """Changes the state. A replay applies the edit again."""
        if self.agent.state is None:
            raise agent_misused(
                "The agent has no state: pass `state`, a function that returns the first one, to @agent."
            )
        entry = self._enter("update", "update")
        if entry is None:
            yield from self._begin()
        draft = copy.deepcopy(self._state)
        returned = edit(draft)
        self._state = as_recorded(draft if returned is None else returned, "state")
        if entry is None:
            recorded = self.invocation.journal.record({"kind": "update", "id": "update"})
            yield self._save(
                {"state": encode(self._state, "state"), "toolResults": recorded, "labels": {"note": "update"}}
            )
        return self.state

    def now(self) -> Operation[datetime]:
        """The current time; a replay returns the recorded one."""
        entry = self._enter("now", "now")
        if entry is None:
            yield from self._begin()
            entry = {"kind": "now", "id": "now", "value": encode(datetime.now(timezone.utc))}
            yield self._save({"toolResults": self.invocation.journal.record(entry), "labels": {"note": "now"}})
        now: datetime = decode(entry["value"])
        return now

    def checkpoint(self, name: str) -> Operation[None]:
        """Saves a checkpoint with a name."""
        if self._enter("checkpoint", name) is None:
            yield from self._begin()
            recorded = self.invocation.journal.record({"kind": "checkpoint", "id": name})
            yield self._save({"name": name, "moveName": True, "toolResults": recorded})

    def emit(self, event: Any) -> None:
        """Adds an event to the next checkpoint. A replay does not emit it again."""
        if self._interruption is None and not self.invocation.journal.is_replaying:
            check_event(event, self._events)
            self._events.append(event)

    def derive(self, kind: str) -> str:
        """Text that is the same for this call in every replay."""
        self._derived += 1
        return self.invocation.derive(f"{kind}\n{self._derived}")

    # The end of the run

    def undo_all(self) -> Tuple[List[str], Optional[int]]:
        """Undoes completed steps, the newest first; returns those that failed, and the position of the first one."""
        journal = self.invocation.journal
        undoable = [(position, entry) for position, entry in enumerate(journal.entries, start=1) if entry.get("undo")]
        not_undone: List[str] = []
        for _, entry in reversed(undoable):
            if not entry.get("undone") and not self._undo(entry):
                not_undone.append(entry["id"])
        return not_undone, undoable[0][0] if undoable else None

    def _undo(self, entry: Entry) -> bool:
        id = entry["id"]
        journal = self.invocation.journal
        undo = self._undos.get(id)
        if undo is None:  # The code has changed.
            return False
        result = decode(journal.results[id])
        failures = 0
        while True:
            try:
                step = StepContext(self.invocation.idempotency_key(f"{id}/undo"), failures + 1)
                self.agent.call_function(partial(undo, result, step))
                break
            except Exception as error:
                failures += 1
                delay_ms = self.agent.retry.delay_ms(error, failures)
                if delay_ms is None:
                    return False
                time.sleep(delay_ms / 1000)
        entry["undone"] = True
        key = f"journal/{journal.entries.index(entry) + 1}"
        self._save({"toolResults": {key: entry}, "labels": {"undone": id}}).call()
        return True


def _has_settled(entry: Entry) -> bool:
    return any(field in entry for field in ("done", "error", "cached"))


def _is_cached(entry: Entry, wanted: Entry) -> bool:
    same = entry["kind"] == "tool" and _tool_name(entry) == _tool_name(wanted)
    return same and entry.get("hash") == wanted["hash"] and entry.get("done") is True


def _tool_name(entry: Entry) -> str:
    return re.split("[:#]", entry["id"])[0]


def _named(items: List[Mapping[str, Any]], name: str) -> List[Mapping[str, Any]]:
    return [item for item in items if item["name"] == name]


def _without_count(id: str) -> str:
    """The name of a wait: the second sleep of a name has the same."""
    return re.sub(r"#\d+$", "", id)


def _text_of(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _outcome_unknown(id: str) -> WaitstateError:
    return WaitstateError(
        "OUTCOME_UNKNOWN",
        f'Step "{id}" is `at_most_once` and was started, but the process ended before its result was recorded, so it '
        "is unknown whether it took effect. Check the service that it calls, then decide how to continue.",
    )
