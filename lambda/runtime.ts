export type { InvokeResult } from './runtime/agent/agent.ts';
export type { AgentEvent, LambdaContext } from './runtime/agent/lambda-handler.ts';
export type { Notifier } from './runtime/approvals/due.ts';
export type { Clock } from './runtime/clock.ts';
export { type SweepOptions, type SweepReport, sweepDue } from './runtime/control/sweep.ts';
export type { Claimant, Skipped } from './runtime/invocation/claim.ts';
export type { InvocationEnd } from './runtime/invocation/invocation-end.ts';
export type { Delivery, Log, Probe, Runtime, StepPhase } from './runtime/runtime.ts';
