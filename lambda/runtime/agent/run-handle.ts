import { type CheckpointSelector, type ForkOptions, readLiveHead } from '../../checkpoints/engine.ts';
import type { Duration } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import type { DecideInput } from '../approvals/decide-input.ts';
import type { ApprovalView } from '../approvals/view.ts';
import type { RestartPreview } from '../control/preview-restart.ts';
import type { RewindOptions } from '../control/rewind-and-fork.ts';
import { cancelRun, retryRun, signalRun, waitForResult, waitForStatus } from '../control/run-control.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import type { SignalArguments, SignalName, SignalSchemas } from '../definition/signal-schemas.ts';
import { validate } from '../definition/standard-schema.ts';
import type { Runtime } from '../runtime.ts';

/** Reads and controls one run. */
export interface RunHandle<Result = unknown, Signals extends SignalSchemas = SignalSchemas> {
  readonly id: string;
  status(): Promise<Status>;
  /** Waits for a status; throws TIMED_OUT when the timeout passes first, and RUN_ENDED when the run ends otherwise. */
  until(status: Status, options?: { readonly timeout?: Duration }): Promise<void>;
  /** Waits until the run has ended and returns its result; throws RUN_FAILED, or RUN_CANCELLED. */
  result(options?: { readonly timeout?: Duration }): Promise<Result>;
  /** Sends a signal. Returns false, and changes nothing, when a signal with the same id was sent before. */
  signal<Name extends SignalName<Signals>>(
    name: Name,
    ...args: SignalArguments<Signals, Name, { readonly id?: string }>
  ): Promise<boolean>;
  /** Cancels the run; returns ENDING while completed steps are being undone. */
  cancel(reason?: string): Promise<Status>;
  /** Resumes a FAILED run at the operation that failed. */
  retry(): Promise<void>;
  /**
   * Says which steps run again after a rewind to a checkpoint, or after a fork from it; changes nothing. Every step,
   * tool call and child run after the checkpoint runs again, with its effects outside.
   */
  previewRestart(to?: CheckpointSelector, options?: { readonly action?: 'rewind' | 'fork' }): Promise<RestartPreview>;
  /** Resumes the run from an earlier checkpoint. */
  rewind(to: CheckpointSelector, options?: RewindOptions): Promise<void>;
  /** Starts a new run from a checkpoint of this one. */
  fork(options?: ForkOptions): Promise<RunHandle<Result, Signals>>;
  /** The pending approvals of the run. */
  approvals(): Promise<readonly ApprovalView[]>;
  /** Records a decision. The caller must have authenticated `by` and `groups`: they are not checked here. */
  decide(input: DecideInput): Promise<ApprovalView>;
}

/** A handle to a run by its id. Does not check that the run exists. */
export function createRunHandle<Result, Signals extends SignalSchemas>(
  runtime: Runtime,
  definition: AgentDefinition<never, unknown, unknown>,
  id: string,
): RunHandle<Result, Signals> {
  const runContext = () => runtime.contexts.forRun(id);
  return {
    id,
    status: async () => (await readLiveHead(await runContext())).meta.status,
    async until(status, { timeout } = {}) {
      const reached = await waitForStatus(runtime, id, (each) => each === status || hasEnded(each), timeout);
      if (reached !== status)
        throw new WaitstateError('RUN_ENDED', `Run "${id}" has ended as ${reached}; it cannot become ${status}.`);
    },
    result: async ({ timeout } = {}) => (await waitForResult(runtime, id, timeout)) as Result,
    async signal(name: string, value?: unknown, options: { readonly id?: string } = {}) {
      const checked = await validate(`Signal "${name}"`, definition.signals?.[name], value);
      return signalRun(runtime, id, { name, value: checked, id: options.id });
    },
    cancel: (reason) => cancelRun(runtime, id, reason),
    retry: () => retryRun(runtime, id),
    async previewRestart(to, { action = 'rewind' } = {}) {
      return (await import('../control/preview-restart.ts')).previewRestart(await runContext(), to, action);
    },
    rewind: async (to, options) => {
      await (await loadRewindAndFork()).rewindRun(runtime, id, to, options);
    },
    fork: async (options) =>
      createRunHandle(runtime, definition, await (await loadRewindAndFork()).forkRun(runtime, id, options)),
    async approvals() {
      const at = await runContext();
      const { viewApproval } = await import('../approvals/view.ts');
      const pending = (await readLiveHead(at)).meta.work?.approvals ?? [];
      return Promise.all(pending.map((each) => viewApproval(at, each)));
    },
    async decide(input) {
      const [{ decide }, { deliverDecided }, { toApprovalView }] = await Promise.all([
        import('../approvals/decide.ts'),
        import('../approvals/deliver-decided.ts'),
        import('../approvals/view.ts'),
      ]);
      return toApprovalView(await deliverDecided(runtime, await decide(await runContext(), input)));
    },
  };
}

// Loaded on first use, to keep the cold start of agents short: agents themselves never rewind or fork.
const loadRewindAndFork = () => import('../control/rewind-and-fork.ts');
