"""A checkpointer for Agentflow (10xscale-agentflow) that stores threads in Waitstate."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Dict, List, Mapping, Optional, TypeVar, Union

try:
    from agentflow.core.exceptions import StaleStateError, StorageError
    from agentflow.core.state import AgentState, Message
    from agentflow.storage.checkpointer.base_checkpointer import BaseCheckpointer
    from agentflow.utils.thread_info import ThreadInfo
except ImportError as error:
    raise ImportError(
        "waitstate.agentflow needs Agentflow, which needs Python 3.12: pip install 10xscale-agentflow"
    ) from error

from .client import Client
from .journal import short_hash
from .store import Change, Store, Stored
from .values import decode, encode

T = TypeVar("T")
Config = Dict[str, Any]
Id = Union[str, int]

# Where Agentflow keeps the version of the state that a run of a graph has read.
_VERSION = "_checkpoint_version"

# The results of a thread; the state of the thread is the state of its checkpoint.
_OWNER = "owner"
_THREAD = "thread"
_CACHE = "state-cache"
_MESSAGE = "message/"
_TOOL = "tool/"


class WaitstateCheckpointer(BaseCheckpointer[AgentState]):  # type: ignore[misc]
    """Stores state, messages, tool results and thread info of each thread as checkpoints of one run."""

    def __init__(
        self, client: Optional[Client] = None, *, prefix: str = "thread:", enforce_user_isolation: bool = False
    ) -> None:
        connected = client or Client()
        self.enforce_user_isolation = enforce_user_isolation
        self._threads = Store(connected, prefix=prefix, owner=f"agentflow {prefix}")
        self._caches = Store(connected, prefix=f"cache-{prefix}", owner=f"agentflow cache-{prefix}")

    async def asetup(self) -> None:
        """Checks that the server can be reached with this key."""
        await self._blocking(lambda: self._threads.client.api.get("/api/me"))

    async def arelease(self) -> None:
        """Does nothing: the checkpointer keeps no connections."""

    # State

    async def aput_state(self, config: Config, state: AgentState) -> AgentState:
        """Stores a state; raises StaleStateError if another run of the graph stored one since this one read it."""
        return await self.aput_checkpoint(config, state)

    async def aput_checkpoint(
        self,
        config: Config,
        state: AgentState,
        messages: Optional[List[Message]] = None,
        metadata: Optional[Dict[str, Any]] = None,
    ) -> AgentState:
        """Stores a state and its messages in one checkpoint."""
        row = encode(self._encode_state(state), "The state")
        revision = 0

        def edit(stored: Stored) -> Change:
            nonlocal revision
            self._check_owner(config, stored)
            revision = _revision(stored)
            expected = config.get(_VERSION)
            if expected is not None and expected != revision:
                raise StaleStateError(
                    f'Expected version {expected} of the state of thread "{config.get("thread_id")}"; '
                    f"found {revision}. Another run of the graph stored a newer one: read it and try again."
                )
            results = {**_first_owner(config, stored), **_message_results(stored, messages or [], metadata)}
            forgotten = [_CACHE] if _CACHE in stored.results else []
            return Change({"revision": revision + 1, "row": row}, results, forgotten)

        await self._update(config, edit)
        config[_VERSION] = revision + 1
        return state

    async def aget_state(self, config: Config) -> Optional[AgentState]:
        """The newest state of a thread."""
        stored = await self._load(config)
        if self._is_denied(config, stored):
            return None
        config[_VERSION] = _revision(stored)
        row = (stored.state or {}).get("row")
        return None if row is None else self._decode_state(decode(row))

    async def aclear_state(self, config: Config) -> bool:
        """Removes the state of a thread; its history stays."""

        def edit(stored: Stored) -> Optional[Change]:
            if stored.version == 0 or self._is_denied(config, stored):
                return None
            forgotten = [_CACHE] if _CACHE in stored.results else []
            return Change({"revision": _revision(stored) + 1, "row": None}, {}, forgotten)

        await self._update(config, edit)
        config.pop(_VERSION, None)
        return True

    async def aput_state_cache(self, config: Config, state: AgentState) -> AgentState:
        """Stores the state of a graph that is running, so that another process can continue it."""
        row = encode(self._encode_state(state), "The state")

        def edit(stored: Stored) -> Optional[Change]:
            # A run of the graph that is out of date must not hide a newer state.
            if self._is_denied(config, stored) or config.get(_VERSION, _revision(stored)) < _revision(stored):
                return None
            return Change(None, {**_first_owner(config, stored), _CACHE: row})

        await self._update(config, edit)
        return state

    async def aget_state_cache(self, config: Config) -> Optional[AgentState]:
        """The state of a graph that is running or was interrupted."""
        stored = await self._load(config)
        row = stored.results.get(_CACHE)
        if row is None or self._is_denied(config, stored):
            return None
        config[_VERSION] = _revision(stored)
        return self._decode_state(decode(row))

    # Messages

    async def aput_messages(
        self, config: Config, messages: List[Message], metadata: Optional[Dict[str, Any]] = None
    ) -> bool:
        """Stores messages in order; one with a known id replaces the earlier one."""

        def edit(stored: Stored) -> Change:
            self._check_owner(config, stored)
            return Change(None, {**_first_owner(config, stored), **_message_results(stored, messages, metadata)})

        if messages:
            await self._update(config, edit)
        return True

    async def aget_message(self, config: Config, message_id: Id) -> Message:
        """A message by its id; raises IndexError if there is none."""
        stored = await self._load(config)
        return _to_message(stored.results[self._find_message(config, stored, message_id)])

    async def alist_messages(
        self, config: Config, search: Optional[str] = None, offset: Optional[int] = None, limit: Optional[int] = None
    ) -> List[Message]:
        """The messages of a thread, the oldest first; `search` looks at their content."""
        stored = await self._load(config)
        if self._is_denied(config, stored):
            return []
        messages = [_to_message(stored.results[key]) for key in _message_keys(stored)]
        if search:
            messages = [each for each in messages if search.lower() in str(each.content).lower()]
        return _page(messages, offset, limit)

    async def adelete_message(self, config: Config, message_id: Id) -> bool:
        """Removes a message; raises IndexError if there is none."""
        await self._update(config, lambda stored: Change(None, {}, [self._find_message(config, stored, message_id)]))
        return True

    def _find_message(self, config: Config, stored: Stored, message_id: Id) -> str:
        found = [] if self._is_denied(config, stored) else _message_keys(stored)
        for key in found:
            if str(decode(stored.results[key])["message"]["message_id"]) == str(message_id):
                return key
        raise IndexError(f'Thread "{config.get("thread_id")}" has no message with id {message_id}.')

    # Threads

    async def aput_thread(self, config: Config, thread_info: ThreadInfo) -> bool:
        """Stores the name, the user and the metadata of a thread."""
        info = thread_info.model_dump(mode="json")
        info["thread_id"] = info.get("thread_id") or config.get("thread_id")
        if info.get("user_id") is None:
            info["user_id"] = config.get("user_id")

        def edit(stored: Stored) -> Change:
            self._check_owner(config, stored)
            owner = _first_owner({"user_id": info["user_id"]}, stored)
            return Change(None, {**owner, _THREAD: encode(info, "The thread")})

        await self._update(config, edit)
        return True

    async def aget_thread(self, config: Config) -> Optional[ThreadInfo]:
        """The name, the user and the metadata of a thread."""
        stored = await self._load(config)
        return None if self._is_denied(config, stored) else _to_thread(stored)

    async def alist_threads(
        self, config: Config, search: Optional[str] = None, offset: Optional[int] = None, limit: Optional[int] = None
    ) -> List[ThreadInfo]:
        """The threads that have info, the one that changed last first; only those of the user if users are isolated."""

        def load_all() -> List[Stored]:
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map(self._threads.load, self._threads.keys()))

        user_id = config.get("user_id")
        isolated = self._isolation_enabled(config, user_id)
        threads = [_to_thread(stored) for stored in await self._blocking(load_all)]
        found = [each for each in threads if each is not None]
        if isolated:
            found = [each for each in found if str(each.user_id) == str(user_id)]
        if search:
            found = [each for each in found if search.lower() in str(each.model_dump()).lower()]
        return _page(found, offset, limit)

    async def aclean_thread(self, config: Config) -> bool:
        """Removes everything of a thread; its history stays until the run expires."""
        cleaned = False

        def edit(stored: Stored) -> Optional[Change]:
            nonlocal cleaned
            if stored.version == 0 or self._is_denied(config, stored):
                return None
            cleaned = True
            return Change({"revision": _revision(stored) + 1, "row": None}, {}, list(stored.results))

        await self._update(config, edit)
        config.pop(_VERSION, None)
        return cleaned

    async def aget_thread_owner(self, thread_id: Id) -> Optional[Id]:
        """The user who wrote to a thread first; None if there is no such thread."""
        owner: Optional[Id] = (await self._load({"thread_id": thread_id})).results.get(_OWNER)
        return owner

    # Tool results

    async def aget_tool_result(self, config: Config, tool_call_id: str) -> Optional[Dict[str, Any]]:
        """The recorded result of a tool call, so that a graph that resumes does not call the tool again."""
        stored = await self._load(config)
        if self._is_denied(config, stored):
            return None
        found: Optional[Dict[str, Any]] = decode(stored.results.get(_tool_key(tool_call_id)))
        return found

    async def aput_tool_result(self, config: Config, tool_call_id: str, result: Dict[str, Any]) -> bool:
        """Records the result of a tool call."""
        doc = encode(result, "The result")

        def edit(stored: Stored) -> Change:
            self._check_owner(config, stored)
            return Change(None, {**_first_owner(config, stored), _tool_key(tool_call_id): doc})

        await self._update(config, edit)
        return True

    # Cache values

    async def aput_cache_value(self, namespace: str, key: str, value: Any, ttl_seconds: Optional[int] = None) -> Any:
        """Stores a small value, for all processes."""
        expires_at = time.time() + ttl_seconds if ttl_seconds else None
        doc = encode({"key": key, "value": value, "expiresAt": expires_at}, "The value")

        def edit(stored: Stored) -> Change:
            expired = [name for name, each in stored.results.items() if _has_expired(each)]
            return Change(None, {short_hash(key): doc}, [name for name in expired if name != short_hash(key)])

        await self._blocking(lambda: self._caches.update(namespace, edit))
        return value

    async def aget_cache_value(self, namespace: str, key: str) -> Any:
        """A cached value; None if there is none, or if it has expired."""
        stored = await self._blocking(lambda: self._caches.load(namespace))
        found = stored.results.get(short_hash(key))
        return None if found is None or _has_expired(found) else decode(found)["value"]

    async def aclear_cache_value(self, namespace: str, key: str) -> None:
        """Removes a cached value."""

        def edit(stored: Stored) -> Optional[Change]:
            return Change(None, {}, [short_hash(key)]) if short_hash(key) in stored.results else None

        await self._blocking(lambda: self._caches.update(namespace, edit))

    async def alist_cache_keys(self, namespace: str, prefix: Optional[str] = None) -> List[str]:
        """The keys of the values of a namespace."""
        stored = await self._blocking(lambda: self._caches.load(namespace))
        keys = [decode(each)["key"] for each in stored.results.values() if not _has_expired(each)]
        return sorted(key for key in keys if key.startswith(prefix or ""))

    # Users

    def _is_denied(self, config: Config, stored: Stored) -> bool:
        user_id, owner = config.get("user_id"), stored.results.get(_OWNER)
        if owner is None or not self._isolation_enabled(config, user_id):
            return False
        return str(owner) != str(user_id)

    def _check_owner(self, config: Config, stored: Stored) -> None:
        if self._is_denied(config, stored):
            raise StorageError(f'Thread "{config.get("thread_id")}" belongs to another user.')

    # Requests

    async def _load(self, config: Mapping[str, Any]) -> Stored:
        return await self._blocking(lambda: self._threads.load(_key(config)))

    async def _update(self, config: Mapping[str, Any], edit: Callable[[Stored], Optional[Change]]) -> None:
        await self._blocking(lambda: self._threads.update(_key(config), edit))

    async def _blocking(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, call)


def _key(config: Mapping[str, Any]) -> str:
    thread_id = config.get("thread_id")
    if thread_id is None or thread_id == "":
        raise StorageError('Expected `thread_id` in the config, such as {"thread_id": "chat-1"}; found none.')
    return str(thread_id)


def _revision(stored: Stored) -> int:
    return int((stored.state or {}).get("revision", 0))


def _first_owner(config: Mapping[str, Any], stored: Stored) -> Dict[str, Any]:
    user_id = config.get("user_id")
    return {} if user_id is None or stored.results.get(_OWNER) is not None else {_OWNER: user_id}


def _message_keys(stored: Stored) -> List[str]:
    return sorted(key for key in stored.results if key.startswith(_MESSAGE))


def _message_results(stored: Stored, messages: List[Message], metadata: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    keys = _message_keys(stored)
    known = {str(decode(stored.results[key])["message"]["message_id"]): key for key in keys}
    last = int(keys[-1][len(_MESSAGE) :]) if keys else 0
    results: Dict[str, Any] = {}
    for message in messages:
        row = message.model_dump(mode="json")
        key = known.get(str(row["message_id"]))
        if key is None:
            last += 1
            key = known[str(row["message_id"])] = f"{_MESSAGE}{last:010d}"
        content = {"message": row, **({"metadata": metadata} if metadata else {})}
        results[key] = encode(content, "The message")
    return results


def _to_message(doc: Any) -> Message:
    return Message.model_validate(decode(doc)["message"])


def _to_thread(stored: Stored) -> Optional[ThreadInfo]:
    found = stored.results.get(_THREAD)
    return None if found is None else ThreadInfo.model_validate(decode(found))


def _tool_key(tool_call_id: str) -> str:
    return _TOOL + (tool_call_id if len(tool_call_id) <= 200 else short_hash(tool_call_id))


def _has_expired(doc: Any) -> bool:
    expires_at = decode(doc)["expiresAt"]
    return expires_at is not None and bool(expires_at <= time.time())


def _page(items: List[T], offset: Optional[int], limit: Optional[int]) -> List[T]:
    start = offset or 0
    return items[start : start + limit] if limit else items[start:]
