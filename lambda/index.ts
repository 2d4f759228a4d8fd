export {
  type CheckpointStore,
  createCheckpointStore,
} from './checkpoints/checkpoint-store.ts';
export type {
  Checkpoint,
  CheckpointFields,
  CheckpointId,
  CheckpointKind,
  CheckpointSelector,
  CheckpointStoreOptions,
  CheckpointSummary,
  CollectResult,
  Difference,
  Draft,
  Edit,
  FailedRun,
  ForkOptions,
  HistoryOptions,
  ModelParameters,
  Problem,
  PruneOptions,
  PruneResult,
  RunFilter,
  RunSummary,
  SaveFields,
  SaveInput,
  Schema,
  SchemaVersion,
  SweepResult,
  TenantScopeOptions,
  TypeCodec,
  TypeCodecs,
  UpdateFields,
  Verification,
} from './checkpoints/engine.ts';
export {
  type KeyContext,
  type KeyRing,
  localKeys,
  type Payload,
  type PayloadContent,
  type PayloadOptions,
  payload,
  StaleVersionError,
  type WrappedKey,
} from './checkpoints/engine.ts';
export { checkpointStore } from './checkpoints/store-from-environment.ts';
export type { Duration } from './core/duration.ts';
export { type ErrorCode, type ErrorScope, isWaitstateError, WaitstateError } from './core/errors.ts';
export { STATUSES, type Status, TRANSITIONS } from './core/status.ts';
export { type Agent, type AnyAgent, agent, type InvokeResult, type StartOptions } from './runtime/agent/agent.ts';
export type { AgentOptions } from './runtime/agent/agent-options.ts';
export { type Approvals, approvals, type InboxOptions } from './runtime/agent/approvals-portal.ts';
export type { AgentEvent, AgentHandler, LambdaContext } from './runtime/agent/lambda-handler.ts';
export type { RunHandle } from './runtime/agent/run-handle.ts';
export { runAgents, type Worker, type WorkerOptions } from './runtime/agent/worker.ts';
export type { AnswerInput, DecideInput } from './runtime/approvals/decide-input.ts';
export type { Notifier } from './runtime/approvals/due.ts';
export type { ApprovalView } from './runtime/approvals/view.ts';
export type { Clock } from './runtime/clock.ts';
export type { RewindOptions } from './runtime/control/rewind-and-fork.ts';
export { type SweepOptions, type SweepReport, sweepDue } from './runtime/control/sweep.ts';
export type {
  AgentContext,
  ApprovalOptions,
  BranchOptions,
  BranchOutcome,
  Callable,
  CallOptions,
  Decision,
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
export type { RetryPolicy } from './runtime/definition/retry-policy.ts';
export type { StandardSchema } from './runtime/definition/standard-schema.ts';
export type { Claimant, Skipped } from './runtime/invocation/claim.ts';
export type { InvocationEnd } from './runtime/invocation/invocation.ts';
export type { Delivery, Log, Runtime } from './runtime/runtime.ts';
export {
  type Condition,
  ConditionFailedError,
  type ListEntries,
  type ListName,
  type Page,
  type PageOptions,
  type PayloadStore,
  type RecordKey,
  type RecordStore,
  type Storage,
  type StoredPayload,
  type StoredRecord,
  type Write,
} from './storage/ports.ts';
