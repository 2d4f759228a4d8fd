"""Saves, restores and rolls back the state of any object, with the interface of agent-checkpoint."""

from __future__ import annotations

import copy
import functools
import threading
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar, Union

from .client import Client
from .errors import WaitstateError, invalid_input
from .invocation import to_seconds
from .store import Change, Store
from .values import decode, encode

C = TypeVar("C", bound="Checkpointable")
F = TypeVar("F", bound=Callable[..., Any])

#: `{"added": {}, "removed": {}, "changed": {"call_count": (5, 10)}}`
Diff = Dict[str, Dict[str, Any]]
Migration = Callable[[Dict[str, Any]], Dict[str, Any]]

_VERSION = "__version__"
_CLASS = "__class__"
_TYPE = "__type__"

_classes: Dict[str, Type["Checkpointable"]] = {}
_migrations: Dict[Tuple[str, str], Tuple[Migration, Optional[str]]] = {}


class Checkpointable:
    """Makes the fields of a class available as a plain dict. Fields that begin with an underscore are left out."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _classes[cls.__name__] = cls

    def _checkpoint_version(self) -> str:
        """The version of the schema of this class."""
        return "1.0"

    def _checkpoint_fields(self) -> Optional[List[str]]:
        """The fields to save; None for all that do not begin with an underscore."""
        return None

    def state_dict(self) -> Dict[str, Any]:
        """A copy of the fields, with the version and the name of the class."""
        chosen = self._checkpoint_fields()
        names = [name for name in vars(self) if not name.startswith("_")] if chosen is None else chosen
        state = {name: _to_state(getattr(self, name)) for name in names}
        return {**state, _VERSION: self._checkpoint_version(), _CLASS: type(self).__name__}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Sets the fields from a state; a state of an older version is migrated first."""
        migrated = _migrate(self, dict(state))
        for name, value in migrated.items():
            if name not in (_VERSION, _CLASS):
                setattr(self, name, _from_state(value, getattr(self, name, None)))

    def clone(self: C) -> C:
        """A copy of the object by its state."""
        cloned, state = copy.copy(self), self.state_dict()
        for name in state:
            # Otherwise, objects inside would be changed in place, and both have them.
            vars(cloned).pop(name, None)
        cloned.load_state_dict(state)
        return cloned

    def diff(self, other: Union["Checkpointable", Mapping[str, Any]]) -> Diff:
        """What is different in `other`: another object or a state."""
        return diff_states(self.state_dict(), other.state_dict() if isinstance(other, Checkpointable) else other)


def register_migration(class_name: str, from_version: str, fn: Migration, to_version: Optional[str] = None) -> None:
    """Registers how a state of an older version becomes one of `to_version`; by default the current version."""
    _migrations[class_name, from_version] = (fn, to_version)


def diff_states(before: Mapping[str, Any], after: Mapping[str, Any]) -> Diff:
    """The fields that were added, removed and changed."""
    return {
        "added": {name: after[name] for name in after if name not in before},
        "removed": {name: before[name] for name in before if name not in after},
        "changed": {
            name: (before[name], after[name]) for name in before if name in after and before[name] != after[name]
        },
    }


class CheckpointManager:
    """Saves objects under keys: each save is a checkpoint of a run, on the HTTP API of Waitstate."""

    def __init__(self, client: Optional[Client] = None, *, prefix: str = "checkpoint:") -> None:
        self._store = Store(client or Client(), prefix=prefix, owner=f"agent-checkpoint {prefix}")

    def save(self, key: str, agent: Checkpointable) -> str:
        """Saves the state of an object; returns the id of the checkpoint."""
        state = encode(_to_storage(agent.state_dict(), "state"), "state")
        return _to_id(key, self._store.save(key, Change(state=state)))

    def load(self, key: str, agent: Checkpointable, checkpoint_id: Optional[str] = None) -> None:
        """Restores an object: from the newest checkpoint of a key, or from the one with this id."""
        agent.load_state_dict(self.state(key, checkpoint_id))

    def state(self, key: str, checkpoint_id: Optional[str] = None) -> Dict[str, Any]:
        """The saved state of an object."""
        stored = self._store.load(key, None if checkpoint_id is None else _to_version(key, checkpoint_id))
        if stored.version == 0:
            raise CheckpointNotFound(key, checkpoint_id)
        state: Dict[str, Any] = _from_storage(decode(stored.state))
        return state

    def list_keys(self) -> List[str]:
        """All keys, the one that was saved last first."""
        return self._store.keys()

    def history(self, key: str, n: int = 10) -> List[Dict[str, Any]]:
        """The last checkpoints of a key, the newest first: `id` and `ts`, its time in seconds."""
        try:
            found = self._store.client.history(self._store.run_of(key), limit=n)
        except WaitstateError as error:
            if error.code != "RUN_NOT_FOUND":
                raise
            return []
        return [{"id": _to_id(key, each["version"]), "ts": to_seconds(each["savedAt"])} for each in found]

    @contextmanager
    def rollback_context(self, key: str, agent: Checkpointable) -> Iterator[None]:
        """Saves an object, and restores it if the block raises. The exception is not suppressed."""
        checkpoint_id = self.save(key, agent)
        try:
            yield
        except BaseException:
            self.load(key, agent, checkpoint_id)
            raise

    def diff(
        self,
        key: str,
        agent: Optional[Checkpointable] = None,
        *,
        checkpoint_id_a: Optional[str] = None,
        checkpoint_id_b: Optional[str] = None,
    ) -> Diff:
        """Compares a checkpoint with the current state of an object, or two checkpoints."""
        if (agent is None) == (checkpoint_id_b is None):
            raise invalid_input("`diff`", "called with `agent`, or with `checkpoint_id_a` and `checkpoint_id_b`", agent)
        after = agent.state_dict() if agent is not None else self.state(key, checkpoint_id_b)
        return diff_states(self.state(key, checkpoint_id_a), after)


def checkpoint(manager: CheckpointManager, key: str, every: int = 1) -> Callable[[F], F]:
    """Saves the first argument of a function after every `every` calls."""
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise invalid_input("`every`", "a whole number from 1", every)

    def decorate(function: F) -> F:
        calls = 0
        lock = threading.Lock()

        @functools.wraps(function)
        def call(agent: Checkpointable, *args: Any, **options: Any) -> Any:
            nonlocal calls
            result = function(agent, *args, **options)
            with lock:
                calls += 1
                if calls % every == 0:
                    manager.save(key, agent)
            return result

        return call  # type: ignore[return-value]

    return decorate


class CheckpointNotFound(WaitstateError, KeyError):
    """No checkpoint is saved under this key or id."""

    def __init__(self, key: str, checkpoint_id: Optional[str]) -> None:
        what = f'key "{key}"' if checkpoint_id is None else f'id "{checkpoint_id}"'
        super().__init__("CHECKPOINT_NOT_FOUND", f"No checkpoint has the {what}. `list_keys` and `history` list them.")

    def __str__(self) -> str:
        return self.message


def _to_id(key: str, version: int) -> str:
    return f"{key}@{version}"


def _to_version(key: str, checkpoint_id: str) -> int:
    found_key, _, version = checkpoint_id.rpartition("@")
    if found_key != key or not version.isdigit() or int(version) < 1:
        raise invalid_input("`checkpoint_id`", f'an id of key "{key}", such as "{key}@3"', checkpoint_id)
    return int(version)


def _migrate(owner: Checkpointable, state: Dict[str, Any]) -> Dict[str, Any]:
    name, wanted = type(owner).__name__, owner._checkpoint_version()
    found = state.get(_CLASS, name)
    if found != name:
        raise WaitstateError("INVALID_INPUT", f"Expected a state of class {name}; found one of class {found}.")
    version = state.get(_VERSION, wanted)
    while version != wanted:
        if (name, version) not in _migrations:
            raise WaitstateError(
                "SCHEMA_INVALID",
                f"The state of {name} has version {version}, and the code has {wanted}. Register a migration: "
                f'register_migration("{name}", from_version="{version}", fn=…).',
            )
        migration, to_version = _migrations[name, version]
        state = migration(copy.deepcopy(state))
        version = to_version or wanted
    return state


def _to_state(value: Any) -> Any:
    """A copy of a value in which each object is its state."""
    if isinstance(value, Checkpointable):
        return value.state_dict()
    if isinstance(value, dict):
        return {key: _to_state(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_to_state(each) for each in value)
    return copy.deepcopy(value)


def _from_state(value: Any, current: Any) -> Any:
    """The value of a state. An object that exists is changed in place; others are made without calling `__init__`."""
    if isinstance(value, dict) and value.get(_CLASS) in _classes and _VERSION in value:
        restored = current
        if type(current).__name__ != value[_CLASS]:
            cls = _classes[value[_CLASS]]
            restored = cls.__new__(cls)
        restored.load_state_dict(value)
        return restored
    if isinstance(value, dict):
        return {key: _from_state(each, None) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_from_state(each, None) for each in value)
    return copy.deepcopy(value)


def _to_storage(value: Any, path: str) -> Any:
    """A value without tuples, which documents do not have."""
    if isinstance(value, dict):
        pairs = {key: _to_storage(each, f"{path}.{key}") for key, each in value.items()}
        return {_TYPE: "dict", "items": [[key, each] for key, each in pairs.items()]} if _TYPE in value else pairs
    if type(value) is list:
        return [_to_storage(each, f"{path}[{index}]") for index, each in enumerate(value)]
    if type(value) is tuple:
        return {_TYPE: "tuple", "items": [_to_storage(each, f"{path}[{index}]") for index, each in enumerate(value)]}
    if type(value) is frozenset:
        return {_TYPE: "frozenset", "items": [_to_storage(each, path) for each in sorted(value, key=repr)]}
    if type(value) is datetime and value.tzinfo is None:
        return {_TYPE: "naive datetime", "text": value.isoformat()}
    if type(value) is float and value.is_integer():
        return {_TYPE: "float", "text": repr(value)}
    return value


def _from_storage(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_storage(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_TYPE)
    if kind == "dict":
        return {key: _from_storage(each) for key, each in value["items"]}
    if kind == "tuple":
        return tuple(_from_storage(each) for each in value["items"])
    if kind == "frozenset":
        return frozenset(_from_storage(each) for each in value["items"])
    if kind == "naive datetime":
        return datetime.fromisoformat(value["text"])
    if kind == "float":
        return float(value["text"])
    return {key: _from_storage(each) for key, each in value.items()}
