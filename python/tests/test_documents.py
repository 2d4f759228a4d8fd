"""The programs in the docs and the examples."""

import os
import re
import runpy
import signal
import unittest

from .scene import REPOSITORY, Folder, Server, shared_server, working


class Tutorial(unittest.TestCase):
    def test_the_agent_of_the_tutorial_survives_a_kill_in_the_middle_of_its_payment(self) -> None:
        page = (REPOSITORY / "docs" / "guides" / "other-languages.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        code = next(block for block in blocks if "main()" in block)
        self.assertIn("time.sleep(15)", code)
        folder = Folder()
        folder.write("payout.py", code.replace("time.sleep(15)", "time.sleep(2)"))
        server = Server(folder, ["payout.py"])
        run = server.client.start("payout", {"to": "Acme", "amount": 30}, id="payout-1")
        server.becomes(run, "WAITING_FOR_APPROVAL")
        server.client.decide(run, "pay", "approve", by="user:ann")
        line = server.wait_for_line("resumes (pid ")
        server.wait_for_line("paying Acme-4711 with key")
        os.kill(int(re.findall(r"pid (\d+)", line)[0]), signal.SIGKILL)
        self.assertEqual(server.client.result(run, timeout={"seconds": 60}), "paid to Acme-4711")
        paying = [line.split("│ ")[1] for line in server.log if "paying " in line]
        self.assertEqual(len(paying), 2)
        self.assertEqual(paying[0], paying[1])
        self.assertEqual(sum("looking up" in line for line in server.log), 1)
        server.kill()


class Examples(unittest.TestCase):
    def test_the_example_pays_after_the_approval(self) -> None:
        payout = runpy.run_path(str(REPOSITORY / "python" / "examples" / "payout.py"))["payout"]
        server = shared_server()
        with working(payout):
            run = server.client.start(payout, payout.example)
            server.becomes(run, "WAITING_FOR_APPROVAL")
            server.client.decide(run, "pay", "approve", by="user:ann")
            result = server.client.result(run, timeout={"seconds": 30})
        self.assertRegex(result, r"^paid \$30 to Acme-4711 with key \w{32}$")


if __name__ == "__main__":
    unittest.main()
