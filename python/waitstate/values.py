"""Documents: JSON in which `{"$": …}` stands for a value that JSON has no type for."""

from __future__ import annotations

import base64
import math
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Tuple

from .waitstate_error import WaitstateError

_SAFE_INTEGER = 2**53 - 1
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "-0": -0.0, "undefined": None, "hole": None}


class Document:
    """A value of a kind that Python has no type for, such as a payload; it is saved unchanged."""

    def __init__(self, doc: Mapping[str, Any]) -> None:
        #: The document as JSON.
        self.doc = doc

    def __repr__(self) -> str:
        return f"Document({self.doc!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and self.doc == other.doc

    def __hash__(self) -> int:
        return hash(repr(self.doc))


def encode(value: Any, path: str = "value") -> Any:
    """The document of a value; raises UNSUPPORTED_VALUE with the path of a part that cannot be stored."""
    return _encode(value, path, ())


def decode(doc: Any) -> Any:
    """The value of a document."""
    if isinstance(doc, list):
        return [decode(each) for each in doc]
    if not isinstance(doc, dict):
        return doc
    if len(doc) == 1 and "$" in doc:
        return _decode_special(doc)
    return {key: decode(value) for key, value in doc.items()}


def as_recorded(value: Any, path: str = "value") -> Any:
    """The value as a replay returns it: a tuple, for example, becomes a list."""
    return decode(encode(value, path))


def _encode(value: Any, path: str, outer: Tuple[Any, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if type(value) is str:
        return _text(value, path)
    if type(value) is int:
        return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else {"$": ["bigint", str(value)]}
    if type(value) is float:
        return _encode_float(value)
    if isinstance(value, Document):
        return value.doc
    if isinstance(value, datetime):
        return _encode_datetime(value, path)
    if isinstance(value, (bytes, bytearray)):
        return {"$": ["bytes", "Uint8Array", base64.b64encode(bytes(value)).decode()]}
    if any(each is value for each in outer):
        raise _unsupported(path, "it contains itself")
    if len(outer) > 90:
        raise _unsupported(path, "it is nested deeper than 90 levels")
    inner = outer + (value,)
    if type(value) in (list, tuple):
        return [_encode(each, f"{path}[{index}]", inner) for index, each in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        # Sorted, so that equal sets have equal documents in every process.
        items = sorted((_encode(each, f"{path}{{}}", inner) for each in value), key=repr)
        return {"$": ["set", items]}
    if type(value) is dict:
        return _encode_dict(value, path, inner)
    raise _unsupported(path, _advice(value))


def _encode_float(value: float) -> Any:
    if math.isnan(value):
        return {"$": "NaN"}
    if math.isinf(value):
        return {"$": "Infinity" if value > 0 else "-Infinity"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$": "-0"}
    # The server's JSON has one type of number: 1.0 would come back as 1.
    return int(value) if value.is_integer() and abs(value) <= _SAFE_INTEGER else value


def _encode_datetime(value: datetime, path: str) -> Any:
    if value.tzinfo is None:
        raise _unsupported(path, "the datetime has no time zone; use datetime.now(timezone.utc)")
    return {"$": ["date", math.floor(value.timestamp() * 1000)]}


def _encode_dict(value: Dict[Any, Any], path: str, inner: Tuple[Any, ...]) -> Any:
    if all(type(key) is str for key in value):
        doc = {_text(key, path): _encode(each, f"{path}.{key}", inner) for key, each in value.items()}
        return {"$": ["object", doc]} if "$" in doc else doc
    pairs: List[Any] = [
        [_encode(key, f"{path} (key)", inner), _encode(each, f"{path}[{key!r}]", inner)] for key, each in value.items()
    ]
    return {"$": ["map", pairs]}


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _unsupported(path, "the text is not valid Unicode: it has half of a surrogate pair") from None
    return value


def _decode_special(doc: Mapping[str, Any]) -> Any:
    special: Any = doc["$"]
    if isinstance(special, str) and special in _SPECIAL:
        return _SPECIAL[special]
    if not isinstance(special, list) or not special:
        return Document(doc)
    kind, rest = special[0], special[1:]
    if kind == "date":
        return datetime.fromtimestamp(rest[0] / 1000, timezone.utc)
    if kind == "bigint":
        return int(rest[0])
    if kind == "bytes" and rest[0] == "Uint8Array":
        return base64.b64decode(rest[1])
    if kind in ("object", "null-object"):
        return {key: decode(value) for key, value in rest[0].items()}
    try:
        if kind == "set":
            return {_hashable(decode(each)) for each in rest[0]}
        if kind == "map":
            return {_hashable(decode(key)): decode(value) for key, value in rest[0]}
    except TypeError:
        pass  # A member that Python cannot hash.
    return Document(doc)


def _hashable(value: Any) -> Any:
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def _unsupported(path: str, reason: str) -> WaitstateError:
    return WaitstateError("UNSUPPORTED_VALUE", f"{path} cannot be stored: {reason}.")


def _advice(value: Any) -> str:
    kind = type(value).__name__
    if hasattr(value, "__dataclass_fields__"):
        return f"it is a {kind}; store dataclasses.asdict(…) instead"
    return f"it is a {kind}; store plain data instead (None, bool, int, float, str, bytes, list, dict, set, datetime)"
