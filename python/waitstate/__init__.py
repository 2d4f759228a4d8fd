"""Durable AI agents: every step is saved, approvals suspend the run, and it resumes in a new process."""

from .agent import Agent, agent
from .api import Api
from .command import main
from .context import AsyncContext, Context
from .decision import Answer, Decision
from .durations import Duration
from .errors import FatalError, RetryableError, StaleVersionError, StepFailed, WaitstateError
from .lambda_handler import lambda_handler
from .retry import RetryPolicy
from .step_context import StepContext
from .values import Document
from .worker import Worker, run_worker

__all__ = [
    "Agent",
    "Answer",
    "Api",
    "AsyncContext",
    "Context",
    "Decision",
    "Document",
    "Duration",
    "FatalError",
    "RetryPolicy",
    "RetryableError",
    "StaleVersionError",
    "StepContext",
    "StepFailed",
    "WaitstateError",
    "Worker",
    "agent",
    "lambda_handler",
    "main",
    "run_worker",
]
