import type { Clock } from '../../../lambda/runtime/clock.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import type { DevLog } from '../log/dev-log.ts';
import type { AgentProcesses } from './agent-processes.ts';
import { toArguments } from './job.ts';
import type { ProcessMessage } from './messages.ts';
import type { AgentProcess } from './supervise.ts';
import type { Timing } from './timing.ts';

/** The claimant of runs that the server executes. Runs of a killed server are reclaimed under this name immediately. */
export const CLAIMANT = 'waitstate dev';

// At its time limit, an invocation releases its run. A process that still runs after this grace period is killed.
const KILL_GRACE_MS = 10_000;

/** What is needed to start a job. */
export interface JobOptions {
  readonly processes: AgentProcesses;
  readonly clock: Clock;
  readonly log: DevLog;
  readonly folder: string;
  readonly url: string;
  readonly timing: Timing;
}

/** Starts a process that executes a run or, given an approval, notifies its approvers. */
export function startJobProcess(
  { processes, clock, log, folder, url, timing }: JobOptions,
  file: string,
  { tenant, run, agent = '' }: Delivery,
  onMessage: (message: ProcessMessage) => void,
  approval?: string,
): AgentProcess {
  const timeoutMs = approval === undefined ? timing.invocationTimeoutMs : timing.notifyTimeoutMs;
  const claimant = { by: CLAIMANT, until: clock.now() + timeoutMs, leaseMs: timing.leaseMs };
  const job = { file, agent, tenant, run, folder, approvalUrl: `${url}/approvals/`, ...claimant };
  return processes.start({
    program: 'invoke',
    args: toArguments(approval === undefined ? job : { ...job, approval }),
    heartbeatTimeoutMs: timing.heartbeatTimeoutMs,
    timeoutMs: timeoutMs + KILL_GRACE_MS,
    onMessage(message) {
      if (message.waitstate === 'loadFailed') log.problem(message.problem);
      onMessage(message);
    },
    onOutput: (line) => log.output(run, line),
  });
}
