"""Executes the scripts of `waitstate conformance` with the Python client."""

import os
import signal
import tempfile

from waitstate import FatalError, WaitstateError, agent, main


@agent(name="conformance")
def conformance(ctx, input):
    return [perform(ctx, f"op-{i}", operation) for i, operation in enumerate(input["script"])]


def perform(ctx, id, operation):
    do = operation["do"]
    if do == "step":
        return ctx.step(id, lambda: operation["value"], model=operation.get("model"))
    if do == "emit":
        ctx.emit(operation["event"])
        return ctx.step(id, lambda: None)
    if do == "approval":
        return ctx.approval(operation["name"], title=operation["name"], approvers=[operation["approver"]]).approved
    if do == "signal":
        seconds = operation.get("seconds")
        timeout = None if seconds is None else {"seconds": seconds}
        value = ctx.wait_for_signal(operation["name"], timeout=timeout)
        return "timed out" if value is None else value
    if do == "sleep":
        return ctx.sleep(operation["name"], {"seconds": operation["seconds"]})
    if do == "call":
        try:
            return ctx.call("conformance", {"script": operation["script"]}, key=operation["name"])
        except WaitstateError as error:
            return f"failed: {error}"
    if do == "crash":
        first = ctx.step(id, lambda: None)
        if not os.path.exists(marker := os.path.join(tempfile.gettempdir(), f"{ctx.run}.crashed")):
            open(marker, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return first
    if do == "yield":
        return ctx.step(id, lambda: None)
    raise FatalError(operation["message"])


if __name__ == "__main__":
    main()
