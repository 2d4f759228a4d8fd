"""Pays an invoice once Ann approves."""

from __future__ import annotations

from typing import Any

from waitstate import Context, agent, main


@agent(description="Pays once Ann approves.", example={"to": "Acme", "amount": 30})
def payout(ctx: Context, input: dict[str, Any]) -> str:
    """Looks up the account, asks Ann, and pays."""
    account = ctx.step("find account", lambda: find_account(input["to"]))
    decision = ctx.approval(
        "pay",
        title=f"Pay ${input['amount']} to {input['to']}?",
        show={"account": account},
        approvers=["user:ann"],
        timeout={"days": 3},
    )
    if not decision.approved:
        return "not paid"
    # A retry after a crash sends the same key, so your payment service pays once.
    return ctx.step("transfer", lambda step: transfer(account, input["amount"], step.idempotency_key))


def find_account(name: str) -> str:
    """Finds the account of a company; here it is made up."""
    return f"{name}-4711"


def transfer(account: str, amount: int, idempotency_key: str) -> str:
    """Pays; a real payment service recognizes the key."""
    return f"paid ${amount} to {account} with key {idempotency_key}"


handler = payout.handler()  # the Lambda function

if __name__ == "__main__":
    main(payout)
