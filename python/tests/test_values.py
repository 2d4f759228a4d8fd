import math
import unittest
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from waitstate import Document, WaitstateError
from waitstate.values import as_recorded, decode, encode

MOMENT = datetime(2026, 1, 1, tzinfo=timezone.utc)


class Values(unittest.TestCase):
    def test_a_value_comes_back_as_it_was(self) -> None:
        values = [
            None,
            True,
            12,
            2**70,
            1.5,
            "text ✓",
            b"bytes",
            [1, [2]],
            {"a": {"b": 1}},
            {"$": 1},
            {1: "one", (1, 2): "pair"},
            {1, 2},
            MOMENT,
            math.inf,
        ]
        for value in values:
            with self.subTest(value=value):
                self.assertEqual(as_recorded(value), value)
                self.assertIs(type(as_recorded(value)), type(value))

    def test_the_document_is_the_one_that_typescript_writes(self) -> None:
        self.assertEqual(encode(MOMENT), {"$": ["date", 1767225600000]})
        self.assertEqual(encode({1: 2}), {"$": ["map", [[1, 2]]]})
        self.assertEqual(encode(b"\x01"), {"$": ["bytes", "Uint8Array", "AQ=="]})
        self.assertEqual(encode({"$": 1}), {"$": ["object", {"$": 1}]})
        self.assertEqual(encode(math.nan), {"$": "NaN"})

    def test_a_value_that_a_replay_returns_differently_is_returned_so_at_once(self) -> None:
        self.assertEqual(as_recorded((1, 2)), [1, 2])
        self.assertIs(type(as_recorded(12.0)), int)
        self.assertEqual(as_recorded(MOMENT.astimezone(timezone(timedelta(hours=2)))), MOMENT)

    def test_a_kind_without_a_python_type_is_kept_unchanged(self) -> None:
        doc = {"shot": {"$": ["payload", "p1", "hash", 3, "image/png", None]}}
        self.assertIsInstance(decode(doc)["shot"], Document)
        self.assertEqual(encode(decode(doc)), doc)

    def test_an_unsupported_value_is_refused_with_its_path_and_what_to_do(self) -> None:
        @dataclass
        class Point:
            x: int

        itself: list = []
        itself.append(itself)
        cases = [
            ({"a": [object()]}, r"result\.a\[0\] cannot be stored: it is a object; store plain data"),
            (Point(1), "store dataclasses.asdict"),
            (datetime(2026, 1, 1), "no time zone"),
            (itself, "contains itself"),
            ("\ud800", "not valid Unicode"),
        ]
        for value, message in cases:
            with self.subTest(message=message), self.assertRaisesRegex(WaitstateError, message) as raised:
                encode(value, "result")
            self.assertEqual(raised.exception.code, "UNSUPPORTED_VALUE")


if __name__ == "__main__":
    unittest.main()
