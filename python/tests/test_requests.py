"""Requests of the client and of a worker, to small servers in this process."""

import contextlib
import io
import json
import threading
import time
import unittest
import unittest.mock
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

from waitstate import Agent, Api, Context, WaitstateError, Worker, agent
from waitstate.interruptions import Lost, Unreachable
from waitstate.invocation import Invocation
from waitstate.transport import download

from .scene import until

Headers = Dict[str, str]
# The status, the content and the headers of a response.
Response = Tuple[int, Any, Headers]
CHECKPOINT = {"version": 3, "status": "RUNNING", "state": {"city": "Rome"}, "toolResults": {}}
EVENT = {"tenant": "default", "run": "r", "agent": "a", "checkpoint": {"version": 3, "status": "RUNNING"}}


@contextlib.contextmanager
def serving(answer: Callable[[str, Headers], Response]) -> Iterator[str]:
    """A server that answers each request by its path and its headers; returns its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            status, content, headers = answer(
                self.path, {name.lower(): value for name, value in self.headers.items()}
            )
            with contextlib.suppress(OSError):  # The client did not wait.
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content if isinstance(content, bytes) else json.dumps(content).encode())

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def attempts(number: int) -> Any:
    return unittest.mock.patch("waitstate.transport._MAX_ATTEMPTS", number)


class Downloads(unittest.TestCase):
    def test_content_that_is_too_large_is_downloaded_again_after_a_failure(self) -> None:
        failures: List[Response] = []

        def answer(path: str, _: Headers) -> Response:
            if path == "/api/runs/r/load":
                return 200, {**EVENT, "contentUrl": f"{url}/content"}, {}
            return failures.pop() if failures else (200, {"checkpoint": CHECKPOINT, "input": 7}, {})

        with serving(answer) as url:
            unavailable: Response = (503, {}, {})
            incomplete: Response = (200, b'{"checkpo', {})
            for failure in (unavailable, incomplete):
                failures = [failure]
                self.assertEqual(Api(url, "key").load("/api/runs/r/load", {})["checkpoint"], CHECKPOINT)
                failures = [failure]
                invocation = Invocation({**EVENT, "contentUrl": f"{url}/content"}, Api(url, "key"))
                self.assertEqual((invocation.stored_state, invocation.input), ({"city": "Rome"}, 7))

    def test_content_that_cannot_be_downloaded_is_unreachable_and_its_signature_is_not_shown(self) -> None:
        def answer(path: str, _: Headers) -> Response:
            if path.startswith("/slow"):
                time.sleep(0.5)
                return 200, {}, {}
            return (403 if path.startswith("/denied") else 200), b"<Error/>", {}

        with serving(answer) as url, attempts(1), unittest.mock.patch("waitstate.transport.TIMEOUT_SECONDS", 0.1):
            for place in (f"{url}/denied", f"{url}/slow", f"{url}/text", "http://127.0.0.1:9/closed", "nowhere"):
                with self.subTest(place=place), self.assertRaises(WaitstateError) as raised:
                    download(f"{place}?signature=secret")
                self.assertEqual(raised.exception.code, "UNREACHABLE")
                self.assertIn(f"downloaded from {place}:", str(raised.exception))

    def test_a_failed_download_in_the_middle_of_a_run_does_not_reach_the_agent(self) -> None:
        class Lossy:
            def perform(self, *_: Any) -> Dict[str, Any]:
                return {**EVENT, "contentUrl": "http://127.0.0.1:9/closed"}

        invocation = Invocation({**EVENT, "checkpoint": CHECKPOINT}, Lossy())
        with attempts(1), self.assertRaises(Unreachable):
            invocation.refresh()


class Credentials(unittest.TestCase):
    def test_a_redirect_does_not_send_the_credentials_to_another_host(self) -> None:
        seen: Dict[str, Headers] = {}

        def elsewhere(path: str, headers: Headers) -> Response:
            seen["other"] = headers
            return 200, {"runs": []}, {}

        with serving(elsewhere) as other:

            def redirect(path: str, headers: Headers) -> Response:
                seen["first"] = headers
                return 302, {}, {"location": f"{other}{path}"}

            with serving(redirect) as url:
                self.assertEqual(Api(url, "secret").get("/api/runs"), {"runs": []})
        self.assertEqual(seen["first"]["authorization"], "Bearer secret")
        self.assertNotIn("authorization", seen["other"])
        self.assertEqual(seen["other"]["accept"], "application/json")

    def test_an_auth_function_that_fails_is_an_error_of_waitstate(self) -> None:
        def fail(*_: Any) -> Mapping[str, str]:
            raise RuntimeError("The token has expired.")

        with self.assertRaisesRegex(WaitstateError, "it raised RuntimeError: The token has expired.") as raised:
            Api("http://127.0.0.1:9", auth=fail).get("/api/me")
        self.assertEqual(raised.exception.code, "NOT_AUTHENTICATED")


class Calls(unittest.TestCase):
    """The error of a call means the child run, unless the run itself is gone."""

    def call(self, code: str, of_the_run: Optional[str] = None) -> None:
        class Refusing:
            def perform(self, action: str, *_: Any) -> Dict[str, Any]:
                refused = of_the_run if action == "load" else code
                if refused:
                    raise WaitstateError(refused, "refused")
                return {**EVENT, "checkpoint": CHECKPOINT}

        Invocation({**EVENT, "checkpoint": CHECKPOINT}, Refusing()).write("call", {"call": {}})

    def test_a_child_run_whose_id_cannot_be_used_is_an_error_of_the_agent(self) -> None:
        for code in ("RUN_EXISTS", "RUN_DELETED", "RUN_EXPIRED", "RUN_SHREDDED"):
            with self.subTest(code=code), self.assertRaises(WaitstateError) as raised:
                self.call(code)
            self.assertEqual(raised.exception.code, code)

    def test_a_run_that_is_gone_is_lost(self) -> None:
        self.assertRaises(Lost, self.call, "RUN_DELETED", "RUN_DELETED")
        self.assertRaises(Unreachable, self.call, "RUN_DELETED", "UNREACHABLE")
        self.assertRaises(Lost, self.call, "STALE_VERSION")


class ScriptedApi(Api):
    """Answers the requests of a worker: each claim with the next event, and renewals with errors."""

    def __init__(self, claims: List[Any], renewals: Optional[List[Exception]] = None) -> None:
        super().__init__("http://127.0.0.1:9", "key")
        self.claims, self.renewals = claims, renewals or []
        self.sent: List[str] = []

    def request(self, method: str, path: str, *args: Any, **options: Any) -> Any:
        self.sent.append(path)
        if path == "/api/claims":
            if not self.claims:
                time.sleep(0.01)
                return None
            claim = self.claims.pop(0)
            if isinstance(claim, Exception):
                raise claim
            return claim
        if path.endswith("/lease") and self.renewals:
            raise self.renewals.pop(0)
        return {"version": 4, "status": "RUNNING", "suspended": False}

    def count(self, end: str) -> int:
        return len([path for path in self.sent if path.endswith(end)])


def claimed(run: str = "r") -> Dict[str, Any]:
    return {**EVENT, "run": run, "checkpoint": CHECKPOINT, "lease": {"id": f"lease of {run}"}}


def step(work: Callable[[], Any]) -> Agent:
    @agent(name="a")
    def defined(ctx: Context, input: Any) -> Any:
        ctx.step("work", work)

    return defined


@unittest.mock.patch("waitstate.worker._PAUSE_SECONDS", 0.01)
class Workers(unittest.TestCase):
    def test_a_worker_asks_again_after_any_error(self) -> None:
        api = ScriptedApi([WaitstateError("FORBIDDEN", "no"), RuntimeError("no credentials"), claimed()])
        worker = Worker({"a": step(lambda: None)}, api)
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            worker.start()
            until("the run is finished", lambda: api.count("/finish"))
            worker.stop()
        self.assertIn("No run was claimed: FORBIDDEN: no\n", printed.getvalue())
        self.assertIn("No run was claimed: RuntimeError: no credentials\n", printed.getvalue())

    def test_a_lease_is_renewed_again_after_any_error_until_it_is_lost(self) -> None:
        renewals: List[Exception] = [RuntimeError("no credentials"), WaitstateError("LEASE_LOST", "taken")]
        api = ScriptedApi([claimed()], renewals)
        go = threading.Event()
        worker = Worker({"a": step(go.wait)}, api, lease={"milliseconds": 30})
        with contextlib.redirect_stderr(io.StringIO()) as printed:
            worker.start()
            until("the lease is lost", lambda: not renewals)
            go.set()
            worker.stop()
        self.assertIn("The lease of run r was not renewed: RuntimeError: no credentials\n", printed.getvalue())

    def test_a_worker_that_stops_releases_the_runs_that_did_not_end_in_time(self) -> None:
        go, started = threading.Event(), threading.Barrier(3, timeout=10)
        ended: List[str] = []

        def work() -> None:
            started.wait()
            go.wait(10)

        class Ending(ScriptedApi):
            def post(self, path: str, *args: Any, **options: Any) -> Any:
                if path.endswith("/release"):
                    # The other run ends while this one is released.
                    go.set()
                    until("the runs end", lambda: not worker._active)
                    ended.append(path)
                return super().post(path, *args, **options)

        api = Ending([claimed("one"), claimed("two")])
        worker = Worker({"a": step(work)}, api, concurrency=2)
        worker.start()
        started.wait()
        worker.stop({"milliseconds": 1})
        self.assertEqual(sorted(ended), ["/api/runs/one/release", "/api/runs/two/release"])


if __name__ == "__main__":
    unittest.main()
