"""Agents on a real server, executed by a worker in this process."""

import threading
import time
import unittest
import unittest.mock
from datetime import datetime
from typing import Any, List

from waitstate import Agent, Api, AsyncContext, Context, FatalError, RetryPolicy, StepFailed, WaitstateError, agent
from waitstate.api import path_of
from waitstate.execute import execute
from waitstate.interruptions import Yielded
from waitstate.invocation import Invocation

from .scene import LossyApi, shared_server, until, working

FAST = RetryPolicy(initial_delay={"milliseconds": 10})


class Steps(unittest.TestCase):
    def test_a_step_runs_once_and_its_result_is_recorded_before_the_agent_sees_it(self) -> None:
        server, calls, seen = shared_server(), [], []

        @agent(name="once")
        def once(ctx: Context, input: Any) -> Any:
            pair = ctx.step("pair", lambda: calls.append("pair") or (1, 2.0))
            seen.append(server.api.get(f"/api/runs/{ctx.run}/load")["checkpoint"]["toolResults"]["pair"])
            key = ctx.step("key", lambda step: [step.idempotency_key, step.attempt])
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            return {"pair": pair, "key": key, "input": input}

        with working(once):
            run = server.client.start(once, {"big": 2**70})
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(calls, ["pair"])
        self.assertEqual(seen, [[1, 2], [1, 2]])
        self.assertEqual(result["pair"], [1, 2])
        self.assertEqual(result["input"], {"big": 2**70})
        self.assertEqual((len(result["key"][0]), result["key"][1]), (32, 1))

    def test_a_failed_step_is_retried_with_the_same_idempotency_key(self) -> None:
        server, keys = shared_server(), []

        @agent(name="flaky", retry=FAST)
        def flaky(ctx: Context, input: Any) -> Any:
            def work(step: Any) -> str:
                keys.append((step.idempotency_key, step.attempt))
                if step.attempt < 3:
                    raise ValueError("not yet")
                return "done"

            return ctx.step("work", work)

        with working(flaky):
            run = server.client.start(flaky)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "done")
        self.assertEqual([attempt for _, attempt in keys], [1, 2, 3])
        self.assertEqual(len({key for key, _ in keys}), 1)
        labels = [each["labels"] for each in server.client.history(run)]
        self.assertEqual(sum(each.get("failed") == "work" for each in labels), 2)

    def test_a_step_that_fails_for_good_raises_the_same_error_in_every_replay(self) -> None:
        server, calls, seen = shared_server(), [], []

        @agent(name="careful")
        def careful(ctx: Context, input: Any) -> Any:
            def fails() -> None:
                calls.append(1)
                raise FatalError("no such page")

            try:
                ctx.step("fetch", fails)
            except StepFailed as error:
                seen.append((error.error_name, error.error_message, error.code))
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            return "went on"

        with working(careful):
            run = server.client.start(careful)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "went on")
        self.assertEqual(len(calls), 1)
        self.assertEqual(seen, [("FatalError", "no such page", "STEP_FAILED")] * 2)

    def test_a_retry_of_a_failed_run_resumes_at_the_step_that_failed(self) -> None:
        server, calls, broken = shared_server(), [], [True]

        @agent(name="fixable", retry=RetryPolicy(max_attempts=1))
        def fixable(ctx: Context, input: Any) -> Any:
            ctx.step("first", lambda: calls.append("first"))

            def second() -> str:
                calls.append("second")
                if broken[0]:
                    raise ValueError("broken")
                return "fixed"

            return ctx.step("second", second)

        with working(fixable):
            run = server.client.start(fixable)
            shown = server.becomes(run, "FAILED")
            self.assertEqual(shown["error"]["message"], 'Step "second" failed: ValueError: broken')
            broken[0] = False
            server.client.retry(run)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "fixed")
        self.assertEqual(calls, ["first", "second", "second"])

    def test_a_result_that_cannot_be_stored_fails_the_step_at_once_with_its_path(self) -> None:
        server = shared_server()

        @agent(name="unstorable")
        def unstorable(ctx: Context, input: Any) -> Any:
            return ctx.step("make", lambda: {"made": object()})

        with working(unstorable):
            shown = server.becomes(server.client.start(unstorable), "FAILED")
        self.assertEqual(shown["error"]["name"], "UNSUPPORTED_VALUE")
        self.assertIn('The result of step "make".made cannot be stored', shown["error"]["message"])

    def test_a_lost_response_is_repeated_and_nothing_is_written_twice(self) -> None:
        server, calls = shared_server(), []
        api = LossyApi(server)

        @agent(name="lossy")
        def lossy(ctx: Context, input: Any) -> Any:
            for number in range(3):
                ctx.step("work", lambda: calls.append(number))
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            return len(calls)

        with working(lossy, api=api):
            run = server.client.start(lossy)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            self.assertEqual(server.client.result(run, timeout={"seconds": 60}), 3)
        self.assertEqual(len(calls), 3)
        self.assertGreaterEqual(len(api.lost), 6)
        steps = [each["step"] for each in server.client.history(run) if "step" in each]
        self.assertEqual(sorted(set(steps)), ["go", "work", "work#2", "work#3"])
        approvals = server.api.get(f"/api/runs/{run}/approvals")["approvals"]
        self.assertEqual(len(approvals), 1)

    def test_a_tool_call_is_identified_by_its_call_id_and_can_reuse_a_result(self) -> None:
        server, calls = shared_server(), []

        @agent(name="tools")
        def tools(ctx: Context, input: Any) -> Any:
            def search(args: Any) -> int:
                calls.append(args["city"])
                return len(args["city"])

            return [
                ctx.tool("search", {"city": city}, search, call_id=f"call_{number}", cache=True)
                for number, city in enumerate(["Rome", "Lisbon", "Rome"])
            ]

        with working(tools):
            run = server.client.start(tools)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), [4, 6, 4])
        self.assertEqual(calls, ["Rome", "Lisbon"])
        results = server.api.get(f"/api/runs/{run}/load")["checkpoint"]["toolResults"]
        self.assertEqual(results["search:call_1"], 6)

    def test_a_step_that_may_run_only_once_fails_if_its_outcome_is_unknown(self) -> None:
        server, attempts = shared_server(), []

        @agent(name="at-most-once")
        def pays(ctx: Context, input: Any) -> Any:
            def pay() -> None:
                attempts.append(1)
                raise Yielded("As if the process had ended here.")

            try:
                ctx.step("pay", pay, at_most_once=True)
            except StepFailed as error:
                return error.code

        with working(pays):
            run = server.client.start(pays)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "OUTCOME_UNKNOWN")
        self.assertEqual(len(attempts), 1)

    def test_a_result_that_is_too_large_for_a_request_fails_the_step(self) -> None:
        server = shared_server()

        @agent(name="large")
        def large(ctx: Context, input: Any) -> Any:
            try:
                ctx.step("make", lambda: "x" * 2_000_000)
            except StepFailed as error:
                return error.code

        with working(large):
            run = server.client.start(large)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "TOO_LARGE")


class Invocations(unittest.TestCase):
    """One invocation at a time, without a worker."""

    def claim(self, defined: Agent) -> Any:
        api = shared_server().api
        body = {"agents": [defined.name], "wait": {"seconds": 0}}
        api.request("POST", "/api/claims", body)  # The server knows the agent from now on.
        run = shared_server().client.start(defined)
        return run, until("a claim", lambda: api.request("POST", "/api/claims", body))

    def test_a_run_continues_in_another_invocation_when_little_time_is_left(self) -> None:
        calls: List[str] = []

        @agent(name="late")
        def late(ctx: Context, input: Any) -> Any:
            for name in ("one", "two"):
                ctx.step(name, lambda: calls.append(name))

        run, event = self.claim(late)
        invocation = Invocation(event, shared_server().api, deadline=time.time() + 5)
        self.assertEqual(execute({"late": late}, invocation), "yielded")
        self.assertEqual(calls, ["one"])
        self.assertEqual(shared_server().client.show(run)["status"], "READY")
        with working(late):
            shared_server().client.result(run, timeout={"seconds": 30})
        self.assertEqual(calls, ["one", "two"])

    def test_a_process_that_lost_its_run_stops_and_writes_nothing(self) -> None:
        caught: List[Exception] = []

        @agent(name="zombie")
        def zombie(ctx: Context, input: Any) -> Any:
            try:
                return ctx.step("work", lambda: "done")
            except Exception as error:
                caught.append(error)

        run, event = self.claim(zombie)
        server = shared_server()
        server.api.post(f"/api/runs/{run}/release", {"lease": event["lease"]["id"]})
        with working(zombie):
            server.client.result(run, timeout={"seconds": 30})
        version = server.client.show(run)["version"]
        self.assertEqual(execute({"zombie": zombie}, Invocation(event, server.api)), "lost")
        self.assertEqual(server.client.show(run)["version"], version)
        self.assertEqual(caught, [])

    def test_a_server_that_cannot_be_reached_does_not_fail_the_run_or_reach_the_agent(self) -> None:
        caught: List[Exception] = []

        @agent(name="unreachable")
        def unreachable(ctx: Context, input: Any) -> Any:
            try:
                ctx.step("work", lambda: "done")
            except Exception as error:
                caught.append(error)

        run, event = self.claim(unreachable)
        nowhere = Api("http://127.0.0.1:9", "key")
        with unittest.mock.patch("waitstate.transport._MAX_ATTEMPTS", 2), self.assertRaises(WaitstateError) as raised:
            execute({"unreachable": unreachable}, Invocation(event, nowhere))
        self.assertEqual(raised.exception.code, "UNREACHABLE")
        self.assertEqual(caught, [])
        self.assertEqual(shared_server().client.show(run)["status"], "RUNNING")

    def test_a_run_of_an_agent_that_the_program_does_not_have_is_refused(self) -> None:
        @agent(name="known")
        def known(ctx: Context, input: Any) -> Any:
            pass

        _, event = self.claim(known)
        with self.assertRaisesRegex(WaitstateError, 'one of the agents other; found agent "known"'):
            execute({"other": known}, Invocation(event, shared_server().api))


class Waits(unittest.TestCase):
    def test_an_approval_suspends_the_run_and_no_code_of_the_agent_can_catch_that(self) -> None:
        server, caught = shared_server(), []

        @agent(name="greedy")
        def greedy(ctx: Context, input: Any) -> Any:
            try:
                decision = ctx.approval("go", title="Go?", approvers=["user:ann"], show={"amount": 30})
            except Exception as error:
                caught.append(error)
                return "caught"
            except BaseException:
                try:
                    ctx.step("after", lambda: caught.append("step"))
                except:  # noqa: E722
                    pass
                return "swallowed"
            return [decision.approved, decision.by, decision.comment, isinstance(decision.at, datetime)]

        with working(greedy):
            run = server.client.start(greedy)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "reject", by="user:ann", comment="Too much.")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, [False, ["user:ann"], "Too much.", True])
        self.assertEqual(caught, [])

    def test_an_approval_is_requested_again_when_the_facts_have_changed(self) -> None:
        server, prices = shared_server(), [1500, 1500]

        @agent(name="travel")
        def travel(ctx: Context, input: Any) -> Any:
            decision = ctx.approval(
                "book",
                title=lambda facts: f"Book for {facts['price']}?",
                approvers=["user:ann"],
                facts={"price": 1200},
                recheck=lambda: {"price": prices.pop()},
            )
            return [decision.approved, decision.facts, decision.request_count]

        with working(travel):
            run = server.client.start(travel)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "book", "approve", by="user:ann")
            until("a second request", lambda: len(server.api.get(f"/api/runs/{run}/approvals")["approvals"]) == 2)
            server.client.decide(run, "book#2", "approve", by="user:ann")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, [True, {"price": 1500}, 2])

    def test_an_approval_that_expires_can_fail_the_run_and_a_retry_asks_again(self) -> None:
        server, timeouts = shared_server(), [{"milliseconds": 50}, {"days": 1}]

        @agent(name="expires")
        def expires(ctx: Context, input: Any) -> Any:
            decision = ctx.approval(
                "go", title="Go?", approvers=["user:ann"], timeout=timeouts[0], on_timeout="fail", editable=True
            )
            return [decision.status, decision.edits]

        with working(expires):
            run = server.client.start(expires)
            shown = server.becomes(run, "FAILED")
            self.assertEqual(shown["error"]["name"], "APPROVAL_EXPIRED")
            timeouts.pop(0)
            server.client.retry(run)
            (pending,) = server.becomes(run, "WAITING_FOR_APPROVAL")["pendingApprovals"]
            decision = {"answer": "approve", "by": "user:ann", "edits": {"amount": 20}}
            server.api.post(f"/api/runs/{run}/approvals/{path_of(pending)}/decide", decision)
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, ["APPROVED", {"amount": 20}])

    def test_a_question_that_expires_can_fail_the_run(self) -> None:
        server = shared_server()

        @agent(name="unanswered")
        def unanswered(ctx: Context, input: Any) -> Any:
            timeout = {"milliseconds": 50}
            ctx.ask("seat", title="Seat?", approvers=["user:ann"], text=True, timeout=timeout, on_timeout="fail")

        with working(unanswered):
            error = server.becomes(server.client.start(unanswered), "FAILED")["error"]
        self.assertEqual(error["name"], "APPROVAL_EXPIRED")
        self.assertIn('Question "seat" was not answered before its deadline', error["message"])

    def test_a_question_suspends_the_run_until_it_is_answered(self) -> None:
        server = shared_server()

        @agent(name="asks")
        def asks(ctx: Context, input: Any) -> Any:
            seat = ctx.ask("seat", title="Which seat?", approvers=["user:ann"], choices=["aisle", "window"])
            schema = {"type": "object", "properties": {"nights": {"type": "integer"}}, "required": ["nights"]}
            hotel = ctx.ask("hotel", title="Which hotel?", approvers=["user:ann"], answer_schema=schema)
            note = ctx.ask("note", title="A note?", approvers=["user:ann"], text=True)
            return [seat.answer, hotel.answer, note.answered, note.answer, note.status, seat.by]

        with working(asks):
            run = server.client.start(asks)
            answers = (("seat", "aisle"), ("hotel", {"nights": 3}))
            for name, value in answers:
                until(name, lambda: server.client.show(run).get("pendingApprovals") == [name])
                with self.assertRaisesRegex(WaitstateError, "The answer is not valid"):
                    server.client.answer(run, name, 7, by="user:ann")
                server.client.answer(run, name, value, by="user:ann")
            until("note", lambda: server.client.show(run).get("pendingApprovals") == ["note"])
            server.client.decide(run, "note", "reject", by="user:ann")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, ["aisle", {"nights": 3}, False, None, "REJECTED", ["user:ann"]])

    def test_signals_are_received_once_and_in_order_and_a_wait_can_time_out(self) -> None:
        server = shared_server()

        @agent(name="chat")
        def chat(ctx: Context, input: Any) -> Any:
            texts = [ctx.wait_for_signal("message") for _ in range(3)]
            return texts + [ctx.wait_for_signal("never", timeout={"milliseconds": 50})]

        with working(chat):
            run = server.client.start(chat)
            server.becomes(run, "WAITING_FOR_SIGNAL")
            for text in ("one", "two", "three"):
                server.client.signal(run, "message", text)
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, ["one", "two", "three", None])

    def test_a_short_sleep_stays_in_the_process_and_a_long_one_suspends_the_run(self) -> None:
        server, calls = shared_server(), []

        @agent(name="sleeper")
        def sleeper(ctx: Context, input: Any) -> Any:
            calls.append("called")
            for _ in range(2):
                ctx.sleep("nap", {"milliseconds": 20})
            for _ in range(input):
                ctx.sleep("night", {"hours": 8})
            return "awake"

        with working(sleeper):
            self.assertEqual(server.client.result(server.client.start(sleeper, 0), timeout={"seconds": 30}), "awake")
            self.assertEqual(calls, ["called"])
            run = server.client.start(sleeper, 1)
            shown = server.becomes(run, "SLEEPING")
        until_text = server.client.history(run)[0]["labels"]["waits"]
        self.assertEqual(until_text, "sleep night")
        self.assertNotIn("lease", shown)

    def test_a_suspended_sleep_ends_after_its_time(self) -> None:
        server, calls = shared_server(), []

        @agent(name="short-sleeper")
        def sleeper(ctx: Context, input: Any) -> Any:
            calls.append("called")
            for _ in range(2):
                ctx.sleep("nap", {"milliseconds": 300})
            return "awake"

        # As if the invocation had little time left, so that even short sleeps suspend the run.
        with unittest.mock.patch("waitstate.operations._MAX_IN_PROCESS_WAIT_MS", 10), working(sleeper):
            run = server.client.start(sleeper)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "awake")
        self.assertEqual(len(calls), 3)

    def test_a_long_delay_of_a_retry_suspends_the_run(self) -> None:
        server, attempts = shared_server(), []

        @agent(name="patient", retry=RetryPolicy(initial_delay={"milliseconds": 300}))
        def patient(ctx: Context, input: Any) -> Any:
            def work(step: Any) -> str:
                attempts.append(step.attempt)
                if step.attempt < 3:
                    raise ValueError("not yet")
                return "done"

            return ctx.step("work", work)

        with unittest.mock.patch("waitstate.operations._MAX_IN_PROCESS_WAIT_MS", 10), working(patient):
            run = server.client.start(patient)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "done")
        self.assertEqual(attempts, [1, 2, 3])
        statuses = [each["status"] for each in server.client.history(run)]
        self.assertEqual(statuses.count("SLEEPING"), 2)

    def test_a_child_run_returns_its_result_or_raises_its_failure(self) -> None:
        server, seen = shared_server(), []

        @agent(name="child")
        def child(ctx: Context, input: Any) -> Any:
            if input == 2:
                raise ValueError("two")
            return input * 10

        @agent(name="parent")
        def parent(ctx: Context, input: Any) -> Any:
            results = []
            for number in range(3):
                try:
                    results.append(ctx.call(child, number))
                except WaitstateError as error:
                    seen.append(error.code)
                    results.append(str(error))
            return results

        with working(parent, child):
            run = server.client.start(parent, id="parent-1")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertEqual(result, [0, 10, 'Child run "parent-1.child#3" failed: ValueError: two'])
        self.assertEqual(seen, ["RUN_FAILED"])

    def test_a_child_run_whose_id_is_taken_raises_the_same_error_in_every_replay(self) -> None:
        server, seen = shared_server(), []

        @agent(name="taken-child")
        def child(ctx: Context, input: Any) -> Any:
            ctx.wait_for_signal("never")

        @agent(name="taken-parent")
        def parent(ctx: Context, input: Any) -> Any:
            try:
                ctx.call(child, id="taken")
            except WaitstateError as error:
                seen.append((error.code, error.message))
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            return ctx.call(child, id="taken")

        with working(parent, child):
            server.client.start(child, id="taken")
            run = server.client.start(parent)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            shown = server.becomes(run, "FAILED")
        self.assertEqual([code for code, _ in seen], ["RUN_EXISTS"] * 2)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(shown["error"]["name"], "RUN_EXISTS")

    def test_events_are_recorded_once(self) -> None:
        server = shared_server()

        @agent(name="emitter")
        def emitter(ctx: Context, input: Any) -> Any:
            ctx.emit({"progress": 0})
            ctx.step("work", lambda step: step.emit({"progress": 50}))
            ctx.emit({"progress": 90})
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            ctx.emit({"progress": 100})

        with working(emitter):
            run = server.client.start(emitter)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            server.client.result(run, timeout={"seconds": 30})
        events = server.api.get(f"/api/runs/{run}/events")["events"]
        emitted = [each["data"]["progress"] for each in events if each["type"] == "event"]
        self.assertEqual(emitted, [0, 50, 90, 100], events)


class Replays(unittest.TestCase):
    def test_code_that_does_not_match_the_journal_fails_the_run_and_a_retry_with_fixed_code_continues(self) -> None:
        server, names, caught = shared_server(), ["first", "renamed", "first"], []

        @agent(name="renamed")
        def renamed(ctx: Context, input: Any) -> Any:
            try:
                ctx.step(names.pop(0), lambda: 1)
            except Exception as error:
                caught.append(error)
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            return "done"

        with working(renamed):
            run = server.client.start(renamed)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            shown = server.becomes(run, "FAILED")
            self.assertEqual(shown["error"]["name"], "STEP_MISMATCH")
            self.assertIn(
                'The code calls step "renamed", but step "first" is recorded there', shown["error"]["message"]
            )
            server.client.retry(run)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "done")
        self.assertEqual(caught, [])

    def test_state_time_and_random_values_are_the_same_in_a_replay(self) -> None:
        server, seen = shared_server(), []

        @agent(name="stateful", state=lambda input: {"count": input})
        def stateful(ctx: Context, input: Any) -> Any:
            before = [ctx.state["count"], ctx.random(), ctx.uuid(), ctx.now()]
            ctx.update(lambda draft: draft.update(count=draft["count"] + 1))
            before.append(ctx.state["count"])
            seen.append(before)
            ctx.approval("go", title="Go?", approvers=["user:ann"])
            ctx.update(lambda draft: {"count": draft["count"] * 10})
            ctx.checkpoint("end")
            return ctx.state

        with working(stateful):
            run = server.client.start(stateful, 4)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            self.assertEqual(server.api.get(f"/api/runs/{run}/load")["checkpoint"]["state"], {"count": 5})
            server.client.decide(run, "go", "approve", by="user:ann")
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), {"count": 50})
        self.assertEqual(len(seen), 2)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual((seen[0][0], seen[0][4]), (4, 5))
        named = server.api.get(f"/api/runs/{run}/load", {"name": "end"})
        self.assertEqual(named["checkpoint"]["state"], {"count": 50})

    def test_an_operation_inside_a_step_is_refused(self) -> None:
        server = shared_server()

        @agent(name="nested")
        def nested(ctx: Context, input: Any) -> Any:
            return ctx.step("outer", lambda: ctx.step("inner", lambda: 1))

        with working(nested):
            shown = server.becomes(server.client.start(nested), "FAILED")
        self.assertEqual(shown["error"]["name"], "AGENT_MISUSED")
        self.assertIn('calls ctx.step("inner") while ctx.step("outer") is not complete', shown["error"]["message"])

    def test_an_async_agent_awaits_its_operations(self) -> None:
        server, calls = shared_server(), []

        @agent(name="async")
        async def coroutine(ctx: AsyncContext, input: Any) -> Any:
            import asyncio

            async def work() -> str:
                calls.append("work")
                await asyncio.sleep(0.01)
                return "worked"

            worked = await ctx.step("work", work)
            plain = await ctx.step("plain", lambda: "plain")
            decision = await ctx.approval("go", title="Go?", approvers=["user:ann"])
            return [worked, plain, decision.approved]

        with working(coroutine):
            run = server.client.start(coroutine)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "go", "approve", by="user:ann")
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), ["worked", "plain", True])
        self.assertEqual(calls, ["work"])

    def test_concurrent_operations_of_an_async_agent_are_refused(self) -> None:
        server = shared_server()

        @agent(name="gather")
        async def gather(ctx: AsyncContext, input: Any) -> Any:
            import asyncio

            async def work() -> None:
                await asyncio.sleep(0.01)

            await asyncio.gather(ctx.step("a", work), ctx.step("b", work))

        with working(gather):
            shown = server.becomes(server.client.start(gather), "FAILED")
        self.assertEqual(shown["error"]["name"], "AGENT_MISUSED")


class TimeTravel(unittest.TestCase):
    def test_a_fork_replays_a_replaced_result_and_a_rewind_asks_again(self) -> None:
        server, effects = shared_server(), []

        @agent(name="traveller")
        def traveller(ctx: Context, input: Any) -> Any:
            price = ctx.step("search", lambda: effects.append("search") or 100)
            decision = ctx.approval("book", title=f"Book for {price}?", approvers=["user:ann"])
            seat = ctx.step("book", lambda step: effects.append(step.idempotency_key) or f"seat for {price}")
            return [seat, decision.comment]

        def decide(run: str, comment: str) -> Any:
            (pending,) = server.becomes(run, "WAITING_FOR_APPROVAL")["pendingApprovals"]
            server.client.decide(run, pending, "approve", by="user:ann", comment=comment)
            return server.client.result(run, timeout={"seconds": 30})

        def find(run: str, step: str, status: str) -> int:
            return next(
                each["version"]
                for each in server.client.history(run)
                if (each.get("step"), each["status"]) == (step, status)
            )

        with working(traveller):
            run = server.client.start(traveller)
            self.assertEqual(decide(run, "first"), ["seat for 100", "first"])
            searched, asked = find(run, "search", "RUNNING"), find(run, "book", "WAITING_FOR_APPROVAL")
            replaced = {"version": searched, "toolResults": {"search": 250}}
            fork = server.api.post(f"/api/runs/{run}/fork", replaced)["run"]
            self.assertEqual(decide(fork, "forked"), ["seat for 250", "forked"])
            for version, comment in ((searched, "second"), (asked, "third")):
                server.api.post(f"/api/runs/{run}/rewind", {"version": version})
                self.assertEqual(decide(run, comment), ["seat for 100", comment])
        self.assertEqual(effects.count("search"), 1)
        keys = effects[1:]
        # A rewind keeps the idempotency keys, and a fork has new ones.
        self.assertEqual((keys[0] == keys[1], keys[0] == keys[2], keys[2] == keys[3]), (False, True, True))


class Ends(unittest.TestCase):
    def test_a_failed_run_undoes_its_completed_steps_newest_first_and_a_retry_runs_them_again(self) -> None:
        server, effects, broken = shared_server(), [], [True]

        @agent(name="saga")
        def saga(ctx: Context, input: Any) -> Any:
            for name in ("flight", "hotel"):
                ctx.step(
                    name,
                    lambda step: effects.append((f"book {name}", step.idempotency_key)) or name,
                    undo=lambda result: effects.append((f"cancel {result}", None)),
                )
            if broken[0]:
                raise ValueError("no car")
            return "booked"

        with working(saga):
            run = server.client.start(saga)
            shown = server.becomes(run, "FAILED")
            self.assertEqual(shown["error"]["message"], "no car")
            names = [name for name, _ in effects]
            self.assertEqual(names, ["book flight", "book hotel", "cancel hotel", "cancel flight"])
            broken[0] = False
            server.client.retry(run)
            self.assertEqual(server.client.result(run, timeout={"seconds": 30}), "booked")
        self.assertEqual([name for name, _ in effects][4:], ["book flight", "book hotel"])
        self.assertNotEqual(effects[0][1], effects[4][1])

    def test_a_cancelled_run_records_the_result_of_its_current_step_and_undoes_it(self) -> None:
        server, effects = shared_server(), []
        started, cancelled = threading.Event(), threading.Event()

        @agent(name="cancelled")
        def long(ctx: Context, input: Any) -> Any:
            def book() -> str:
                started.set()
                cancelled.wait(30)
                effects.append("book")
                return "seat 1"

            ctx.step("book", book, undo=lambda seat: effects.append(f"cancel {seat}"))
            ctx.step("pay", lambda: effects.append("pay"))

        with working(long):
            run = server.client.start(long)
            started.wait(30)
            server.client.cancel(run)
            cancelled.set()
            server.becomes(run, "CANCELLED")
        self.assertEqual(effects, ["book", "cancel seat 1"])
        self.assertEqual(server.api.get(f"/api/runs/{run}/load")["checkpoint"]["toolResults"]["book"], "seat 1")
        steps = [each["step"] for each in server.client.history(run) if "step" in each]
        self.assertEqual(steps[0], "book")

    def test_a_cancelled_run_that_waits_is_undone_by_a_new_invocation(self) -> None:
        server, effects = shared_server(), []

        @agent(name="cancelled-while-waiting")
        def waits(ctx: Context, input: Any) -> Any:
            ctx.step("book", lambda: effects.append("book"), undo=lambda: effects.append("cancel"))
            ctx.wait_for_signal("go")

        with working(waits):
            run = server.client.start(waits)
            server.becomes(run, "WAITING_FOR_SIGNAL")
            server.client.cancel(run)
            server.becomes(run, "CANCELLED")
        self.assertEqual(effects, ["book", "cancel"])

    def test_an_exception_of_the_agent_fails_the_run_with_its_name_and_message(self) -> None:
        server = shared_server()

        @agent(name="fails")
        def fails(ctx: Context, input: Any) -> Any:
            raise KeyError("amount")

        with working(fails):
            run = server.client.start(fails)
            shown = server.becomes(run, "FAILED")
            self.assertEqual((shown["error"]["name"], shown["error"]["message"]), ("KeyError", "'amount'"))
            with self.assertRaises(WaitstateError) as raised:
                server.client.result(run)
        self.assertEqual(raised.exception.code, "RUN_FAILED")


if __name__ == "__main__":
    unittest.main()
