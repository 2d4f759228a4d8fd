"""Runs agents as a program: for `waitstate dev --exec`, or as a worker."""

from __future__ import annotations

import json
import sys
from typing import Any, List, Mapping, Optional

from .agent import Agent, by_name
from .api import Api
from .errors import WaitstateError
from .execute import execute
from .invocation import Invocation, to_seconds

_USAGE = """This program runs agents. Start it in one of two ways:

  waitstate dev --exec "python {program}"   starts it for each invocation of a run
  python {program} worker                   asks a server for runs until you stop it
"""


def main(*agents: Agent, args: Optional[List[str]] = None) -> None:
    """Runs agents as a program; all agents that the program defined, if none are given."""
    known = by_name(agents)
    given = sys.argv[1:] if args is None else args
    if given == ["worker"]:
        from .worker import run_worker

        run_worker(*known.values())
        return
    if given or sys.stdin.isatty():
        sys.exit(_USAGE.format(program=sys.argv[0]))
    event = json.load(sys.stdin)
    if event.get("describe"):
        print(json.dumps({"waitstate": 1, "agents": [each.describe() for each in known.values()]}))
    elif "notify" in event:
        notify(known, event)
    else:
        deadline = to_seconds(event["deadline"]) if "deadline" in event else None
        try:
            execute(known, Invocation(event, Api(), deadline))
        except WaitstateError as error:
            # The server starts the program again.
            sys.exit(f"{error.code}: {error.message}")


def notify(agents: Mapping[str, Agent], event: Mapping[str, Any]) -> None:
    """Notifies the approvers of a request, if the agent does that."""
    found = agents.get(event.get("agent", ""))
    hook = found.notify if found else None
    if found is not None and hook is not None:
        found.call_function(lambda: hook(event["notify"]))
