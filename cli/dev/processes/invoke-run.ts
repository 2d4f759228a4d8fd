import { type HeadMeta, readLiveHead, withTenant } from '../../../lambda/checkpoints/engine.ts';
import { hasEnded } from '../../../lambda/core/status.ts';
import { createOperator } from '../../../lambda/operator/create-operator.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';
import { isPaused } from '../../../lambda/runtime/control/pause-agent.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { dim, styled } from '../../terminal/line.ts';
import type { AgentCommands } from '../agents/agent-commands.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import { shortPath } from '../log/dev-log.ts';
import { findLastFailure } from '../log/error-location.ts';
import { createDecisionLog } from '../log/log-decisions.ts';
import type { RunEndLog } from '../log/log-run-ends.ts';
import { describeCrash, describeInvocationEnd, stepCountText } from '../log/run-report.ts';
import type { NextAction } from './invocation-queue.ts';
import { invokeCommand } from './invoke-command.ts';
import { CLAIMANT, type JobOptions, startJobProcess } from './job-process.ts';
import type { ProcessMessage } from './messages.ts';
import type { ProcessExit } from './supervise.ts';

export interface RunInvokerOptions extends JobOptions {
  readonly runtime: Runtime;
  readonly files: Pick<AgentFiles, 'find'>;
  readonly commands: Pick<AgentCommands, 'find'>;
  readonly runEnds: RunEndLog;
  /** Called when a run has pending approvals, whose approvers must be notified. */
  onApprovalPending(): void;
}

/** Executes runs in agent processes. */
export interface RunInvoker {
  invoke(delivery: Delivery): Promise<NextAction>;
  /** Logs once that a run is ready, but its agent file does not load. */
  logUnloadable(delivery: Delivery): Promise<void>;
}

/** Executes runs, each in a separate process. Skips runs that have ended, are paused or whose agent is not loaded. */
export function createRunInvoker(options: RunInvokerOptions): RunInvoker {
  const { runtime, files, commands, log, processes, timing, runEnds, onApprovalPending } = options;
  const decisions = createDecisionLog(log);
  const unloadable = new Set<string>();

  async function invoke(delivery: Delivery): Promise<NextAction> {
    const { run, agent = '' } = delivery;
    const { operator, at: context, meta } = await readRun(delivery);
    const found = files.find(agent) ?? commands.find(agent);
    if (!meta || hasEnded(meta.status) || !found || (await isPaused(context, agent))) return 'done';
    if ('file' in found && found.problem) return 'done';
    unloadable.delete(idOf(delivery));
    await decisions.logDecided(operator, run, meta.work?.approvals ?? []);
    const logStart = (pid: number | undefined) => log.run(run, startText(agent, meta), dim(` (pid ${pid})`));
    if ('command' in found) {
      const end = await invokeCommand(options, delivery, found.command, logStart);
      return 'crashed' in end ? logCrash(delivery, end.pid, end.crashed) : report(operator, run, end);
    }

    let ended: Extract<ProcessMessage, { readonly waitstate: 'ended' }> | undefined;
    let isUnloadable = false;
    const child = startJobProcess(options, found.file, delivery, (message) => {
      if (message.waitstate === 'ended') ended = message;
      if (message.waitstate === 'loadFailed') isUnloadable = true;
      if (message.waitstate === 'deliver') void runtime.deliver?.(message.delivery);
      if (message.waitstate === 'stepRetried') void logRetry(operator, run, message.step);
    });
    logStart(child.pid);
    const exit = await child.exited;
    if (ended) return report(operator, run, ended);
    return isUnloadable && !processes.isClosed ? 'crashed' : logCrash(delivery, child.pid, exit);
  }

  function logCrash({ tenant, run }: Delivery, pid: number | undefined, exit: ProcessExit): NextAction {
    if (processes.isClosed) log.run(run, styled('yellow', 'interrupted; resumes at the next start'));
    else {
      const crash = describeCrash(exit, timing.heartbeatTimeoutMs, 'exceeded the time limit of an invocation');
      runEnds.rememberCrash(tenant, run, crash);
      log.run(run, styled('red', `pid ${pid} ${crash}`));
    }
    return 'crashed';
  }

  /** Reads a run before it is executed. */
  async function readRun({ tenant, run }: Delivery) {
    const contexts = withTenant(runtime.contexts, tenant);
    const context = await contexts.forRun(run);
    const { meta } = (await readLiveHead(context).catch(() => undefined)) ?? {};
    return { operator: createOperator({ ...runtime, contexts }), at: context, meta };
  }

  async function logRetry(operator: Operator, run: string, step: string): Promise<void> {
    const lastFailure = await findLastFailure(operator, run, step);
    log.run(run, styled('yellow', `retries "${step}"`), lastFailure === undefined ? '' : `: ${lastFailure}`);
  }

  async function logUnloadable(delivery: Delivery): Promise<void> {
    const { file } = files.find(delivery.agent ?? '') ?? {};
    if (file === undefined || unloadable.has(idOf(delivery))) return;
    unloadable.add(idOf(delivery));
    const { operator, meta } = await readRun(delivery);
    if (!meta || hasEnded(meta.status)) return;
    await decisions.logDecided(operator, delivery.run, meta.work?.approvals ?? []);
    log.run(delivery.run, styled('yellow', `is ready, but ${shortPath(file)} does not load`));
  }

  /** Logs the result of an invocation, and decides what follows. */
  async function report(
    operator: Operator,
    run: string,
    { ended, steps }: Pick<Extract<ProcessMessage, { readonly waitstate: 'ended' }>, 'ended' | 'steps'>,
  ): Promise<NextAction> {
    const view = await operator.run(run).catch(() => undefined);
    const line = describeInvocationEnd(ended, steps, view, runtime.clock.now());
    if (line) log.run(run, ...line);
    if (view && hasEnded(view.status)) await runEnds.logEnd(operator, view, ...(line ? [] : [stepCountText(steps)]));
    else if (ended.end === 'finished') log.run(run, ended.status.toLowerCase(), stepCountText(steps));
    else runEnds.forgetCrash(operator.tenant, run);
    if (view) decisions.remember(view);
    if (view && view.pendingApprovals.length > 0) onApprovalPending();
    if (ended.end === 'failed') return 'crashed';
    return view?.status === 'READY' && view.parkedReason === undefined ? 'ready' : 'done';
  }

  return { invoke, logUnloadable };
}

const idOf = ({ tenant, run }: Delivery): string => JSON.stringify([tenant, run]);

/** The log text for the start of a process. */
function startText(agent: string, { work, status }: HeadMeta): string {
  if (work?.claimedVersion === undefined) return `starts: ${agent}`;
  if (work.lease?.by === CLAIMANT) return 'resumes after an interruption';
  if (status !== 'ENDING') return 'resumes';
  return work.ending === 'CANCELLED' ? 'cancels: undoes its steps' : 'fails: undoes its steps';
}
