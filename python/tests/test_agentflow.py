"""Agentflow's checkpointer, with the real package; it needs Python 3.12 and 10xscale-agentflow."""

import asyncio
import unittest
import uuid
from typing import Any, Dict

from .scene import shared_server

try:
    from agentflow.core.exceptions import StaleStateError, StorageError
    from agentflow.core.graph import StateGraph
    from agentflow.core.state import AgentState, Message
    from agentflow.utils import END, START
    from agentflow.utils.thread_info import ThreadInfo

    from waitstate.agentflow import WaitstateCheckpointer
except ImportError as missing:
    raise unittest.SkipTest(f"Agentflow is not installed: {missing}") from missing

from waitstate.client import Client


class Trip(AgentState):
    city: str = ""


def checkpointer(prefix: str = "", **options: Any) -> WaitstateCheckpointer:
    server = shared_server()
    return WaitstateCheckpointer(Client(server.url, server.key), prefix=prefix or f"{uuid.uuid4()}/", **options)


def message(text: str, role: Any = "user") -> Message:
    return Message.text_message(text, role=role)


def config(**more: Any) -> Dict[str, Any]:
    return {"thread_id": "t1", **more}


class States(unittest.TestCase):
    def test_a_state_is_restored_in_another_process_as_the_class_of_the_graph(self) -> None:
        first = checkpointer("states/")
        first.setup()
        self.assertIsNone(first.get_state(config()))
        state = Trip(context=[message("hi")], city="Rome")
        first.put_state(config(), state)
        second = checkpointer("states/")
        second.bind_state_type(Trip)
        restored = second.get_state(config())
        self.assertIsInstance(restored, Trip)
        self.assertEqual(restored.model_dump(), state.model_dump())
        self.assertTrue(second.clear_state(config()))
        self.assertIsNone(first.get_state(config()))
        first.release()

    def test_a_state_that_is_based_on_an_older_one_is_refused(self) -> None:
        saved = checkpointer()
        saved.put_state(config(), AgentState())
        one, two = config(), config()
        saved.get_state(one)
        saved.get_state(two)
        saved.put_messages(one, [message("messages do not change the version of the state")])
        saved.put_state(one, AgentState())
        saved.put_state(one, AgentState())
        with self.assertRaisesRegex(StaleStateError, "Expected version 1 of the state"):
            saved.put_state(two, AgentState())

    def test_the_cache_has_the_state_of_a_running_graph_until_a_state_is_stored(self) -> None:
        saved = checkpointer()
        running = config()
        self.assertIsNone(saved.get_state_cache(running))
        saved.put_state_cache(running, AgentState(context=[message("node 1")]))
        self.assertEqual(len(saved.get_state_cache(config()).context), 1)
        saved.put_state(config(), AgentState())
        self.assertIsNone(saved.get_state_cache(config()))
        # A run of the graph that read the state before the newer one was stored.
        saved.put_state_cache(config(_checkpoint_version=0), AgentState(context=[message("late")]))
        self.assertIsNone(saved.get_state_cache(config()))

    def test_a_state_and_its_messages_are_one_checkpoint(self) -> None:
        saved = checkpointer("atomic/")
        asyncio.run(saved.aput_checkpoint(config(), AgentState(), [message("one"), message("two")]))
        history = shared_server().client.history("atomic/t1")
        self.assertEqual(len(history), 1)
        self.assertEqual(len(saved.list_messages(config())), 2)


class Messages(unittest.TestCase):
    def test_messages_are_listed_in_order_and_searched_and_paged(self) -> None:
        saved = checkpointer()
        messages = [message(f"text {number}") for number in range(12)]
        saved.put_messages(config(), messages[:5], {"source": "test"})
        saved.put_messages(config(), messages[5:])
        listed = saved.list_messages(config())
        self.assertEqual([each.text() for each in listed], [f"text {number}" for number in range(12)])
        self.assertEqual(
            [each.text() for each in saved.list_messages(config(), "TEXT 1")], ["text 1", "text 10", "text 11"]
        )
        self.assertEqual(
            [each.text() for each in saved.list_messages(config(), None, 2, 3)], ["text 2", "text 3", "text 4"]
        )

    def test_a_message_is_found_replaced_and_deleted_by_its_id(self) -> None:
        saved = checkpointer()
        one, two = message("one"), message("two")
        saved.put_messages(config(), [one, two])
        changed = one.model_copy(update={"content": message("changed").content})
        saved.put_messages(config(), [changed])
        self.assertEqual(saved.get_message(config(), one.message_id).text(), "changed")
        self.assertEqual([each.text() for each in saved.list_messages(config())], ["changed", "two"])
        saved.delete_message(config(), one.message_id)
        self.assertRaises(IndexError, saved.get_message, config(), one.message_id)
        self.assertRaises(IndexError, saved.delete_message, config(), one.message_id)
        self.assertEqual(len(saved.list_messages(config())), 1)


class Threads(unittest.TestCase):
    def test_threads_are_listed_and_searched_and_cleaned(self) -> None:
        saved = checkpointer()
        for number in range(3):
            thread = {"thread_id": f"t{number}"}
            saved.put_thread(thread, ThreadInfo(thread_id=f"t{number}", thread_name=f"Trip {number}", user_id="ann"))
        saved.put_messages({"thread_id": "without info"}, [message("hi")])
        self.assertEqual(sorted(each.thread_id for each in saved.list_threads({})), ["t0", "t1", "t2"])
        self.assertEqual([each.thread_id for each in saved.list_threads({}, "trip 1")], ["t1"])
        self.assertEqual(len(saved.list_threads({}, None, 1, 1)), 1)
        self.assertEqual(saved.get_thread({"thread_id": "t2"}).thread_name, "Trip 2")
        self.assertTrue(saved.clean_thread({"thread_id": "t2"}))
        self.assertIsNone(saved.get_thread({"thread_id": "t2"}))
        self.assertEqual(len(saved.list_threads({})), 2)

    def test_a_thread_belongs_to_the_user_who_wrote_first_if_users_are_isolated(self) -> None:
        saved = checkpointer(enforce_user_isolation=True)
        ann, bob = config(user_id="ann"), config(user_id="bob")
        saved.put_state(ann, AgentState())
        saved.put_messages(ann, [message("secret")])
        saved.put_thread(ann, ThreadInfo(thread_id="t1"))
        self.assertEqual(asyncio.run(saved.aget_thread_owner("t1")), "ann")
        self.assertIsNone(asyncio.run(saved.aget_thread_owner("t2")))
        self.assertIsNone(saved.get_state(bob))
        self.assertEqual(saved.list_messages(bob), [])
        self.assertIsNone(saved.get_thread(bob))
        self.assertEqual(saved.list_threads(bob), [])
        self.assertFalse(saved.clean_thread(bob))
        self.assertRaises(StorageError, saved.put_state, bob, AgentState())
        self.assertRaises(StorageError, saved.put_messages, bob, [message("x")])
        self.assertEqual(len(saved.list_messages(ann)), 1)

    def test_tool_results_of_another_user_are_neither_read_nor_written_if_users_are_isolated(self) -> None:
        saved = checkpointer(enforce_user_isolation=True)
        ann, bob = config(user_id="ann"), config(user_id="bob")

        async def scene() -> None:
            await saved.aput_tool_result(ann, "call_1", {"paid": True})
            self.assertEqual(await saved.aget_thread_owner("t1"), "ann")
            self.assertIsNone(await saved.aget_tool_result(bob, "call_1"))
            with self.assertRaisesRegex(StorageError, "belongs to another user"):
                await saved.aput_tool_result(bob, "call_1", {"paid": False})
            self.assertEqual(await saved.aget_tool_result(ann, "call_1"), {"paid": True})

        asyncio.run(scene())


class Ledgers(unittest.TestCase):
    def test_a_tool_result_is_recorded_and_found_by_its_call_id(self) -> None:
        saved = checkpointer()

        async def scene() -> None:
            self.assertIsNone(await saved.aget_tool_result(config(), "call_1"))
            await saved.aput_tool_result(config(), "call_1", {"paid": True})
            await saved.aput_tool_result(config(), "x" * 500, {"long": 1})
            self.assertEqual(await saved.aget_tool_result(config(), "call_1"), {"paid": True})
            self.assertEqual(await saved.aget_tool_result(config(), "x" * 500), {"long": 1})

        asyncio.run(scene())

    def test_cache_values_expire_and_are_listed(self) -> None:
        saved = checkpointer()
        saved.put_cache_value("urls", "a/1", {"url": 1})
        saved.put_cache_value("urls", "b", 2, 100)
        saved.put_cache_value("urls", "gone", 3, -1)
        self.assertEqual(saved.get_cache_value("urls", "a/1"), {"url": 1})
        self.assertIsNone(saved.get_cache_value("urls", "gone"))
        self.assertEqual(asyncio.run(saved.alist_cache_keys("urls")), ["a/1", "b"])
        self.assertEqual(asyncio.run(saved.alist_cache_keys("urls", "a")), ["a/1"])
        saved.clear_cache_value("urls", "a/1")
        self.assertIsNone(saved.get_cache_value("urls", "a/1"))

    def test_a_stop_request_reaches_another_process(self) -> None:
        one, two = checkpointer("stop/"), checkpointer("stop/")
        one.request_stop(config(user_id="ann"))
        self.assertTrue(two.is_stop_requested(config(user_id="ann")))
        self.assertFalse(two.is_stop_requested(config(user_id="bob")))
        two.clear_stop_request(config(user_id="ann"))
        self.assertFalse(one.is_stop_requested(config(user_id="ann")))


class Graphs(unittest.TestCase):
    def test_a_graph_continues_its_thread_with_another_checkpointer(self) -> None:
        def respond(state: AgentState) -> Message:
            return message(f"heard {len(state.context)}", "assistant")

        def ask(text: str) -> Any:
            graph = StateGraph()
            graph.add_node("respond", respond)
            graph.add_edge(START, "respond")
            graph.add_edge("respond", END)
            compiled = graph.compile(checkpointer=checkpointer("graphs/"))
            return compiled.invoke({"messages": [message(text)]}, config=config(user_id="ann"))

        ask("one")
        result = ask("two")
        self.assertEqual(result["messages"][-1].text(), "heard 3")
        listed = checkpointer("graphs/").list_messages(config(user_id="ann"))
        self.assertEqual([each.text() for each in listed], ["one", "heard 1", "two", "heard 3"])


if __name__ == "__main__":
    unittest.main()
