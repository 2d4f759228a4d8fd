import unittest
import uuid
from typing import Any, Dict, List, Optional

from waitstate import WaitstateError
from waitstate.checkpointable import Checkpointable, CheckpointManager, checkpoint, register_migration

from .scene import LossyApi, shared_server


class Memory(Checkpointable):
    def __init__(self) -> None:
        self.facts: List[Any] = []


class Assistant(Checkpointable):
    def __init__(self) -> None:
        self.memory: List[str] = []
        self.config: Dict[Any, Any] = {}
        self.call_count = 0
        self._cache = {"secret": 1}

    def reply(self, text: str) -> str:
        self.memory.append(text)
        self.call_count += 1
        return f"Reply #{self.call_count}"


class Team(Checkpointable):
    def __init__(self) -> None:
        self.leader = Memory()
        self.others: List[Memory] = []


def manager(prefix: Optional[str] = None) -> CheckpointManager:
    return CheckpointManager(shared_server().client, prefix=prefix or f"{uuid.uuid4()}/")


class States(unittest.TestCase):
    def test_a_state_has_the_public_fields_the_version_and_the_class(self) -> None:
        assistant = Assistant()
        assistant.reply("hello")
        state = assistant.state_dict()
        expected = {"memory": ["hello"], "config": {}, "call_count": 1, "__version__": "1.0", "__class__": "Assistant"}
        self.assertEqual(state, expected)
        other = Assistant()
        other.load_state_dict(state)
        other.reply("world")
        self.assertEqual((other.memory, assistant.memory), (["hello", "world"], ["hello"]))

    def test_a_class_can_choose_its_fields(self) -> None:
        class Chooser(Checkpointable):
            def __init__(self) -> None:
                self.kept, self.left, self._hidden = 1, 2, 3

            def _checkpoint_fields(self) -> List[str]:
                return ["kept", "_hidden"]

        self.assertEqual(set(Chooser().state_dict()), {"kept", "_hidden", "__version__", "__class__"})

    def test_objects_inside_are_saved_and_restored(self) -> None:
        team = Team()
        team.leader.facts = ["a"]
        team.others = [Memory(), Memory()]
        team.others[1].facts = [(1, 2)]
        clone = team.clone()
        team.leader.facts.append("b")
        team.others[1].facts.append("c")
        self.assertEqual(clone.leader.facts, ["a"])
        self.assertIsInstance(clone.others[1], Memory)
        self.assertEqual(clone.others[1].facts, [(1, 2)])
        self.assertEqual(clone.diff(team)["changed"]["leader"][1]["facts"], ["a", "b"])

    def test_a_state_of_an_older_version_is_migrated(self) -> None:
        class Scorer(Checkpointable):
            def __init__(self) -> None:
                self.score = 0

            def _checkpoint_version(self) -> str:
                return "3.0"

        old = {"points": 4, "__version__": "1.0", "__class__": "Scorer"}
        with self.assertRaisesRegex(WaitstateError, "version 1.0, and the code has 3.0. Register a migration"):
            Scorer().load_state_dict(old)
        register_migration("Scorer", "1.0", lambda state: {"score": state["points"] * 10}, to_version="2.0")
        register_migration("Scorer", from_version="2.0", fn=lambda state: {"score": state["score"] + 1})
        scorer = Scorer()
        scorer.load_state_dict(old)
        self.assertEqual(scorer.score, 41)
        self.assertEqual(old["points"], 4)

    def test_a_state_of_another_class_is_refused(self) -> None:
        with self.assertRaisesRegex(WaitstateError, "Expected a state of class Memory; found one of class Assistant"):
            Memory().load_state_dict(Assistant().state_dict())


class Managers(unittest.TestCase):
    def test_an_object_is_saved_and_restored_with_rich_types_and_without_pickles(self) -> None:
        saved = manager()
        assistant = Assistant()
        assistant.config = {
            "tuple": (1, [2, (3,)]),
            "set": {1, 2},
            "frozen": frozenset({"a"}),
            7: "seven",
            "float": 2.0,
            "nested": {"__type__": "mine", "$": 1},
        }
        saved.save("session 1/2", assistant)
        other = Assistant()
        saved.load("session 1/2", other)
        self.assertEqual(other.config, assistant.config)
        self.assertIs(type(other.config["float"]), float)
        self.assertIs(type(other.config["tuple"][1][1]), tuple)
        assistant.config = {"callback": lambda: 1}
        with self.assertRaisesRegex(WaitstateError, "state.config.callback cannot be stored: it is a function"):
            saved.save("session 1/2", assistant)

    def test_history_lists_the_last_checkpoints_and_each_can_be_loaded(self) -> None:
        saved, assistant = manager(), Assistant()
        ids = []
        for text in ("one", "two", "three"):
            assistant.reply(text)
            ids.append(saved.save("chat", assistant))
        history = saved.history("chat", n=2)
        self.assertEqual([each["id"] for each in history], [ids[2], ids[1]])
        self.assertGreaterEqual(history[0]["ts"], history[1]["ts"])
        saved.load("chat", assistant, ids[0])
        self.assertEqual(assistant.memory, ["one"])
        self.assertEqual(saved.list_keys(), ["chat"])
        self.assertEqual(saved.history("unknown"), [])

    def test_a_missing_checkpoint_is_a_key_error_that_says_what_to_do(self) -> None:
        saved = manager()
        with self.assertRaisesRegex(KeyError, 'No checkpoint has the key "none". `list_keys`'):
            saved.load("none", Assistant())
        saved.save("some", Assistant())
        with self.assertRaisesRegex(KeyError, 'the id "some@9"'):
            saved.load("some", Assistant(), "some@9")
        with self.assertRaisesRegex(WaitstateError, 'an id of key "some"'):
            saved.load("some", Assistant(), "other@1")

    def test_a_block_that_raises_is_rolled_back_and_the_exception_is_not_suppressed(self) -> None:
        saved, assistant = manager(), Assistant()
        assistant.reply("hello")
        with self.assertRaisesRegex(RuntimeError, "mid-way"):
            with saved.rollback_context("before", assistant):
                assistant.reply("CORRUPTED")
                saved.save("before", assistant)
                raise RuntimeError("API call failed mid-way")
        self.assertEqual((assistant.memory, assistant.call_count), (["hello"], 1))
        with saved.rollback_context("before", assistant):
            assistant.reply("kept")
        self.assertEqual(assistant.call_count, 2)

    def test_the_decorator_saves_every_few_calls(self) -> None:
        saved, assistant = manager(), Assistant()

        @checkpoint(saved, key="my_agent", every=3)
        def process(agent: Assistant, text: str) -> str:
            """Replies."""
            return agent.reply(text)

        self.assertEqual([process(assistant, str(number)) for number in range(7)][-1], "Reply #7")
        self.assertEqual(process.__doc__, "Replies.")
        self.assertEqual(len(saved.history("my_agent")), 2)
        self.assertEqual(saved.state("my_agent")["call_count"], 6)

    def test_a_diff_compares_a_checkpoint_with_an_object_or_two_checkpoints(self) -> None:
        saved, assistant = manager(), Assistant()
        first = saved.save("key", assistant)
        assistant.call_count = 10
        second = saved.save("key", assistant)
        assistant.extra = True  # type: ignore[attr-defined]
        self.assertEqual(saved.diff("key", agent=assistant), {"added": {"extra": True}, "removed": {}, "changed": {}})
        expected = {"added": {}, "removed": {}, "changed": {"call_count": (0, 10)}}
        self.assertEqual(saved.diff("key", checkpoint_id_a=first, checkpoint_id_b=second), expected)
        with self.assertRaises(WaitstateError):
            saved.diff("key")

    def test_two_managers_save_under_one_key_and_nothing_is_lost(self) -> None:
        prefix = f"{uuid.uuid4()}/"
        one, two, assistant = manager(prefix), manager(prefix), Assistant()
        for number in range(4):
            assistant.call_count = number
            (one if number % 2 else two).save("shared", assistant)
        self.assertEqual(len(one.history("shared")), 4)
        self.assertEqual(two.state("shared")["call_count"], 3)

    def test_a_lost_response_does_not_save_twice(self) -> None:
        saved = manager()
        saved._store.client.api = LossyApi(shared_server())
        saved.save("lossy", Assistant())
        saved.save("lossy", Assistant())
        self.assertEqual(len(saved.history("lossy")), 2)


if __name__ == "__main__":
    unittest.main()
