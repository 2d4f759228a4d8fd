"""Agents in processes of their own, which are killed in the middle."""

import os
import signal
import subprocess
import sys
import unittest
from typing import Any, List

from .scene import Folder, Server, shared_server, until

# Each step appends a line to effects.txt. The step `slow` waits until the file `go` exists.
PROGRAM = """
import os, sys, time
from waitstate import RetryPolicy, agent, main, run_worker

FOLDER = os.path.dirname(os.path.abspath(__file__))

def effect(text):
    with open(os.path.join(FOLDER, "effects.txt"), "a") as file:
        file.write(f"{text}\\n")

def slow(step):
    effect(f"slow {os.getpid()} {step.idempotency_key}")
    while not os.path.exists(os.path.join(FOLDER, "go")):
        time.sleep(0.02)
    return "slow"

def notify(notice):
    effect(f"notify {notice['kind']} {notice['links'][0]['person']}")

FAST = RetryPolicy(initial_delay={"milliseconds": 10})

@agent(name="NAME", description="Pays.", example={"amount": 30}, notify=notify, retry=FAST)
def payout(ctx, input):
    ctx.step("quote", lambda: effect("quote"))
    ctx.step("slow", slow)
    decision = ctx.approval("pay", title=f"Pay ${input['amount']}?", approvers=["user:ann"])

    def transfer(step):
        effect(f"transfer {step.attempt}")
        if step.attempt == 1:
            raise ValueError("The bank is closed.")
        return "paid"

    paid = ctx.step("transfer", transfer) if decision.approved else "not paid"
    print("paid", flush=True)
    return paid

if __name__ == "__main__":
    if sys.argv[1:] == ["worker"]:
        run_worker(payout, lease={"seconds": 5}, wait={"seconds": 2}, grace={"seconds": 10})
    else:
        main()
"""


def pids(folder: Folder) -> List[int]:
    return [int(line.split(" ")[1]) for line in folder.lines("effects.txt") if line.startswith("slow ")]


def counted(folder: Folder) -> Any:
    return [line.split(" ")[0] for line in folder.lines("effects.txt") if not line.startswith("notify")]


class Commands(unittest.TestCase):
    def test_a_command_resumes_after_a_kill_of_its_process_and_of_the_server(self) -> None:
        folder = Folder()
        folder.write("agent.py", PROGRAM.replace("NAME", "payout"))
        server = Server(folder, ["agent.py"])
        agents = server.api.get("/api/agents")["agents"]
        self.assertEqual(agents, [{"name": "payout", "description": "Pays.", "example": {"amount": 30}}])
        run = server.client.start("payout", {"amount": 30})
        until("the slow step", lambda: len(pids(folder)) == 1)
        os.kill(pids(folder)[0], signal.SIGKILL)
        until("a second process", lambda: len(pids(folder)) == 2)
        server.kill()
        server = Server(folder, ["agent.py"])
        until("a third process", lambda: len(pids(folder)) == 3)
        folder.write("go", "")
        server.becomes(run, "WAITING_FOR_APPROVAL")
        until("a mail", lambda: "notify requested user:ann" in folder.lines("effects.txt"))
        self.assertFalse(any(is_alive(pid) for pid in pids(folder)))
        server.client.decide(run, "pay", "approve", by="user:ann")
        self.assertEqual(server.client.result(run, timeout={"seconds": 60}), "paid")
        server.wait_for_line("│ paid")
        # The interrupted step ran again with the same key; the steps that had completed did not.
        self.assertEqual(counted(folder), ["quote", "slow", "slow", "slow", "transfer", "transfer"])
        keys = {line.split(" ")[2] for line in folder.lines("effects.txt") if line.startswith("slow ")}
        self.assertEqual(len(keys), 1)
        server.kill()

    def test_a_program_without_input_says_how_to_start_it(self) -> None:
        folder = Folder()
        program = folder.write("agent.py", PROGRAM.replace("NAME", "payout"))
        shown = subprocess.run(
            [sys.executable, str(program), "--help"],
            env=shared_server().environment,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(shown.returncode, 1)
        self.assertIn('waitstate dev --exec "python', shown.stderr)


class Workers(unittest.TestCase):
    def start(self, folder: Folder) -> "subprocess.Popen[bytes]":
        worker = subprocess.Popen(
            [sys.executable, str(folder.path / "agent.py"), "worker"], env=shared_server().environment
        )
        self.addCleanup(worker.wait)
        self.addCleanup(worker.kill)
        return worker

    def scene(self, name: str) -> Folder:
        folder = Folder()
        folder.write("agent.py", PROGRAM.replace("NAME", name))
        return folder

    def start_run(self, name: str) -> str:
        server = shared_server()
        until("the agent is known", lambda: name in str(server.api.get("/api/agents")))
        return server.client.start(name, {"amount": 30})

    def test_another_worker_resumes_the_run_of_a_worker_that_was_killed(self) -> None:
        server, folder = shared_server(), self.scene("killed")
        first = self.start(folder)
        run = self.start_run("killed")
        until("the slow step", lambda: len(pids(folder)) == 1)
        first.kill()
        self.start(folder)
        folder.write("go", "")
        server.becomes(run, "WAITING_FOR_APPROVAL")
        server.client.decide(run, "pay", "approve", by="user:ann")
        self.assertEqual(server.client.result(run, timeout={"seconds": 60}), "paid")
        self.assertEqual(counted(folder), ["quote", "slow", "slow", "transfer", "transfer"])

    def test_a_worker_that_shuts_down_completes_its_step_and_releases_the_run(self) -> None:
        server, folder = shared_server(), self.scene("stopped")
        first = self.start(folder)
        run = self.start_run("stopped")
        until("the slow step", lambda: len(pids(folder)) == 1)
        first.send_signal(signal.SIGTERM)
        self.assertRaises(subprocess.TimeoutExpired, first.wait, 0.3)
        folder.write("go", "")
        self.assertEqual(first.wait(20), 0)
        shown = server.client.show(run)
        self.assertEqual(shown["status"], "READY")
        self.assertEqual(counted(folder), ["quote", "slow"])
        self.start(folder)
        server.becomes(run, "WAITING_FOR_APPROVAL")
        self.assertEqual(counted(folder), ["quote", "slow"])
        server.client.cancel(run)

    def test_a_worker_keeps_its_run_for_as_long_as_it_works(self) -> None:
        server, folder = shared_server(), self.scene("long")
        self.start(folder)
        self.start(folder)
        run = self.start_run("long")
        until("the slow step", lambda: len(pids(folder)) == 1)
        began = server.client.show(run)["lease"]["until"]
        # Two renewals of a lease of five seconds.
        until("a renewed lease", lambda: server.client.show(run)["lease"]["until"] > began)
        renewed = server.client.show(run)["lease"]["until"]
        until("another renewal", lambda: server.client.show(run)["lease"]["until"] > renewed)
        folder.write("go", "")
        server.becomes(run, "WAITING_FOR_APPROVAL")
        self.assertEqual(counted(folder), ["quote", "slow"])
        server.client.cancel(run)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


if __name__ == "__main__":
    unittest.main()
