export {
  type KeyRing,
  localKeys,
  type ModelParameters,
  type Payload,
  type PayloadContent,
  type PayloadOptions,
  payload,
  type TypeCodec,
  type TypeCodecs,
} from './checkpoints/engine.ts';
export type { ApprovalStatus, Approver, VoteAnswer } from './core/approval.ts';
export type { DelegateInput } from './core/delegation.ts';
export type { Duration } from './core/duration.ts';
export { type ErrorCode, type ErrorScope, isWaitstateError, WaitstateError } from './core/errors.ts';
export type { FieldProblem } from './core/forms/find-problems.ts';
export type { JsonSchema } from './core/forms/json-schema.ts';
export type { Status } from './core/status.ts';
export { type Agent, type AnyAgent, agent, type StartOptions } from './runtime/agent/agent.ts';
export type { AgentOptions } from './runtime/agent/agent-options.ts';
export { type Approvals, approvals, type InboxOptions } from './runtime/agent/approvals-portal.ts';
export type { AgentHandler } from './runtime/agent/lambda-handler.ts';
export type { RunHandle } from './runtime/agent/run-handle.ts';
export { runAgents, type Worker, type WorkerOptions } from './runtime/agent/worker.ts';
export type { VoteView } from './runtime/approvals/approval-content.ts';
export type { DecideAllInput, DecideAllResult, ShownApproval } from './runtime/approvals/decide-all.ts';
export type { AnswerInput, DecideInput } from './runtime/approvals/decide-input.ts';
export type { DelegationView } from './runtime/approvals/delegations.ts';
export type { ApprovalView } from './runtime/approvals/view.ts';
export type { RewindOptions } from './runtime/control/rewind-and-fork.ts';
export type {
  AgentContext,
  ApprovalOptions,
  BranchOptions,
  BranchOutcome,
  Callable,
  CallOptions,
  Decision,
  Done,
  Facts,
  SignalOptions,
  StepContext,
  StepOptions,
  ToolOptions,
  TurnContext,
} from './runtime/definition/agent-context.ts';
export type { AgentDefinition, RunAgent, TurnAgent } from './runtime/definition/agent-definition.ts';
export { FatalError, RetryableError } from './runtime/definition/agent-errors.ts';
export type { ApprovalNotification } from './runtime/definition/approval-notification.ts';
export type { Frozen } from './runtime/definition/frozen.ts';
export type { Answer, Choice, ChoiceValue, QuestionOptions } from './runtime/definition/question.ts';
export type { RetryPolicy } from './runtime/definition/retry-policy.ts';
export type { SignalSchemas } from './runtime/definition/signal-schemas.ts';
export type { StandardSchema } from './runtime/definition/standard-schema.ts';
export type { RawTransactItem, TransactItem } from './storage/dynamodb/transact/transact-items.ts';
