import unittest
from datetime import timedelta

from waitstate import FatalError, RetryableError, RetryPolicy, WaitstateError, agent
from waitstate.api import path_of
from waitstate.durations import to_milliseconds
from waitstate.journal import Journal
from waitstate.step_context import call_with


class Durations(unittest.TestCase):
    def test_a_duration_is_a_timedelta_or_the_sum_of_its_parts(self) -> None:
        self.assertEqual(to_milliseconds("x", timedelta(minutes=1)), 60_000)
        self.assertEqual(to_milliseconds("x", {"hours": 1, "minutes": 30}), 5_400_000)

    def test_an_invalid_duration_is_refused(self) -> None:
        for duration in ({"weeks": 1}, {}, 5, {"hours": -1}, {"days": 40_000}, {"hours": "1"}):
            with self.subTest(duration=duration), self.assertRaisesRegex(WaitstateError, "must be a duration"):
                to_milliseconds("`timeout`", duration)


class Retries(unittest.TestCase):
    def test_the_delay_doubles_up_to_its_maximum(self) -> None:
        policy = RetryPolicy(max_attempts=50, initial_delay={"seconds": 2}, max_delay={"seconds": 10})
        for failures, longest in ((1, 2000), (2, 4000), (3, 8000), (4, 10_000), (49, 10_000)):
            delay = policy.delay_ms(ValueError(), failures) or 0
            self.assertTrue(longest / 2 <= delay <= longest, delay)

    def test_a_fatal_error_is_not_retried_and_a_retryable_one_chooses_its_delay(self) -> None:
        policy = RetryPolicy()
        self.assertIsNone(policy.delay_ms(FatalError("no"), 1))
        self.assertEqual(policy.delay_ms(RetryableError("later", {"seconds": 30}), 1), 30_000)
        self.assertIsNone(policy.delay_ms(RetryableError("later", {"seconds": 30}), 3))
        self.assertIsNone(policy.delay_ms(WaitstateError("UNSUPPORTED_VALUE", "no"), 1))

    def test_an_invalid_policy_is_refused(self) -> None:
        for options in ({"max_attempts": 0}, {"backoff_rate": 0.5}, {"initial_delay": 3}):
            with self.subTest(options=options), self.assertRaises(WaitstateError):
                RetryPolicy(**options)  # type: ignore[arg-type]


class Journals(unittest.TestCase):
    def test_operations_of_one_name_have_different_ids(self) -> None:
        journal = Journal({})
        self.assertEqual([journal.identify("search") for _ in range(3)], ["search", "search#2", "search#3"])
        self.assertEqual(journal.identify("search", "call_1"), "search:call_1")
        self.assertEqual(journal.identify("a/b#2"), "a%2Fb%232")

    def test_another_operation_than_the_recorded_one_is_refused_with_the_usual_causes(self) -> None:
        recorded = {"journal/1": {"kind": "step", "id": "quote", "done": True}, "quote": 12}
        for kind, id in (("step", "buy"), ("approval", "quote")):
            with self.assertRaises(WaitstateError) as raised:
                Journal(recorded).enter(kind, id)
            self.assertEqual(raised.exception.code, "STEP_MISMATCH")
            self.assertIn(f'The code calls {kind} "{id}", but step "quote" is recorded there', str(raised.exception))
            self.assertIn("random numbers, the time, a request or another read outside a step", str(raised.exception))

    def test_code_that_ends_too_early_is_refused(self) -> None:
        journal = Journal({"journal/1": {"kind": "step", "id": "quote", "done": True}, "quote": 12})
        with self.assertRaisesRegex(WaitstateError, 'The agent ends, but step "quote" is recorded next'):
            journal.check_end()

    def test_more_than_nine_entries_are_in_order(self) -> None:
        journal = Journal({f"journal/{n}": {"kind": "step", "id": f"s{n}"} for n in (10, 2, 1, 3, 4, 5, 6, 7, 8, 9)})
        self.assertEqual([entry["id"] for entry in journal.entries], [f"s{n}" for n in range(1, 11)])


class Functions(unittest.TestCase):
    def test_a_function_gets_only_the_arguments_that_it_requires(self) -> None:
        self.assertEqual(call_with(lambda: "none", 1), "none")
        self.assertEqual(call_with(lambda one: one, 1), 1)
        self.assertEqual(call_with(lambda *all_of_them: all_of_them, 1, 2), (1, 2))
        self.assertEqual([call_with(lambda item=item: item, "step") for item in (1, 2)], [1, 2])


class Agents(unittest.TestCase):
    def test_an_agent_is_named_after_its_function_unless_it_has_a_name(self) -> None:
        @agent
        def payout(ctx, input):
            """Pays."""

        @agent(name="other")
        def another(ctx, input):
            pass

        self.assertEqual((payout.name, payout.__doc__, another.name), ("payout", "Pays.", "other"))


class Paths(unittest.TestCase):
    def test_an_id_with_special_characters_is_escaped_as_the_api_expects(self) -> None:
        self.assertEqual(path_of("trip-42"), "trip-42")
        self.assertEqual(path_of("trips[0]/refund"), "~trips~5B0~5D~2Frefund")
        self.assertEqual(path_of(".."), "~~2E~2E")


if __name__ == "__main__":
    unittest.main()
