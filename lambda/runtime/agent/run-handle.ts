import { type CheckpointSelector, readLiveHead } from '../../checkpoints/load.ts';
import type { ForkOptions } from '../../checkpoints/operations/time-travel.ts';
import type { Duration } from '../../core/duration.ts';
import { WaitstateError } from '../../core/errors.ts';
import { hasEnded, type Status } from '../../core/status.ts';
import type { DecideInput } from '../approvals/decide.ts';
import type { ApprovalView } from '../approvals/view.ts';
import type { RewindOptions } from '../control/rewind-and-fork.ts';
import {
  cancelRun,
  deliverIfReady,
  retryRun,
  signalRun,
  waitForResult,
  waitForStatus,
} from '../control/run-control.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { validate } from '../definition/standard-schema.ts';
import type { Runtime } from '../runtime.ts';

/** A run, from outside. */
export interface RunHandle<Result = unknown> {
  readonly id: string;
  status(): Promise<Status>;
  /** Waits for a status; throws TIMED_OUT when it does not come in time, and RUN_ENDED when it cannot any more. */
  until(status: Status, options?: { readonly timeout?: Duration }): Promise<void>;
  /** Waits for the end; throws what the run failed with. */
  result(options?: { readonly timeout?: Duration }): Promise<Result>;
  /** Says whether the signal is new: one with an id that was sent before changes nothing. */
  signal(name: string, value?: unknown, options?: { readonly id?: string }): Promise<boolean>;
  cancel(reason?: string): Promise<Status>;
  /** Lets a run that failed go on from where it was. */
  retry(): Promise<void>;
  /** Lets the run go on from an earlier checkpoint. */
  rewind(to: CheckpointSelector, options?: RewindOptions): Promise<void>;
  /** Begins a new run at a checkpoint of this one. */
  fork(options?: ForkOptions): Promise<RunHandle<Result>>;
  /** The approvals that are open. */
  approvals(): Promise<readonly ApprovalView[]>;
  /** Answers one of them; that `by` and `groups` are true is for the caller to know. */
  decide(input: DecideInput): Promise<ApprovalView>;
}

/** A run of an agent by its id, whether there is one or not. */
export function createRunHandle<Result>(
  runtime: Runtime,
  definition: AgentDefinition<never, unknown, unknown>,
  id: string,
): RunHandle<Result> {
  const inRun = () => runtime.contexts.forRun(id);
  return {
    id,
    status: async () => (await readLiveHead(await inRun())).meta.status,
    async until(status, { timeout } = {}) {
      const found = await waitForStatus(runtime, id, (each) => each === status || hasEnded(each), timeout);
      if (found !== status)
        throw new WaitstateError('RUN_ENDED', `Run "${id}" is ${found} and does not become ${status}.`);
    },
    result: async ({ timeout } = {}) => (await waitForResult(runtime, id, timeout)) as Result,
    async signal(name, value, options = {}) {
      const checked = await validate(`Signal "${name}"`, definition.signals?.[name], value);
      return signalRun(runtime, id, { name, value: checked, id: options.id });
    },
    cancel: (reason) => cancelRun(runtime, id, reason),
    retry: () => retryRun(runtime, id),
    rewind: async (to, options) => (await goingBack()).rewindRun(runtime, id, to, options),
    fork: async (options) =>
      createRunHandle(runtime, definition, await (await goingBack()).forkRun(runtime, id, options)),
    async approvals() {
      const at = await inRun();
      const { viewApproval } = await import('../approvals/view.ts');
      const open = (await readLiveHead(at)).meta.work?.approvals ?? [];
      return Promise.all(open.map((each) => viewApproval(at, each)));
    },
    async decide(input) {
      const { decide } = await import('../approvals/decide.ts');
      const at = await inRun();
      const view = await decide(at, input);
      await deliverIfReady(runtime, at);
      return view;
    },
  };
}

// What an agent does not do itself is loaded when it is first used.
const goingBack = () => import('../control/rewind-and-fork.ts');
