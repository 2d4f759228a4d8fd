import type { HeadMeta } from '../../../lambda/checkpoints/engine.ts';
import { readLiveHead, withTenant } from '../../../lambda/checkpoints/engine.ts';
import { hasEnded } from '../../../lambda/core/status.ts';
import { createOperator } from '../../../lambda/operator/create-operator.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';
import { isPaused } from '../../../lambda/runtime/control/pause-agent.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { dim, styled } from '../../terminal/line.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import { shortPath } from '../log/dev-log.ts';
import { findLastFailure } from '../log/error-location.ts';
import { createDecisionLog } from '../log/log-decisions.ts';
import type { RunEndLog } from '../log/log-run-ends.ts';
import { describeCrash, describeInvocationEnd, stepCountText } from '../log/run-report.ts';
import type { NextAction } from './invocation-queue.ts';
import { CLAIMANT, type JobOptions, startJobProcess } from './job-process.ts';
import type { ProcessMessage } from './messages.ts';

export interface RunInvokerOptions extends JobOptions {
  readonly runtime: Runtime;
  readonly files: Pick<AgentFiles, 'find'>;
  readonly runEnds: RunEndLog;
  /** A run waits for people, who are to be told. */
  onApprovalPending(): void;
}

/** How runs are run from here. */
export interface RunInvoker {
  invoke(delivery: Delivery): Promise<NextAction>;
  /** Says, once, that a run is ready and its file does not load. */
  logUnloadable(delivery: Delivery): Promise<void>;
}

/** Runs runs, each in a process of its own; a run for which there is nothing to do is left alone. */
export function createRunInvoker(options: RunInvokerOptions): RunInvoker {
  const { runtime, files, log, processes, timing, runEnds, onApprovalPending } = options;
  const decisions = createDecisionLog(log);
  const unloadable = new Set<string>();

  async function invoke(delivery: Delivery): Promise<NextAction> {
    const { tenant, run, agent = '' } = delivery;
    const { operator, at: context, meta } = await readRun(delivery);
    const found = files.find(agent);
    if (!meta || hasEnded(meta.status) || !found || found.problem || (await isPaused(context, agent))) return 'over';
    unloadable.delete(idOf(delivery));
    await decisions.logDecided(operator, run, meta.work?.approvals ?? []);

    let ended: Extract<ProcessMessage, { readonly tell: 'ended' }> | undefined;
    let isUnloadable = false;
    const child = startJobProcess(options, found.file, delivery, (message) => {
      if (message.tell === 'ended') ended = message;
      if (message.tell === 'unloadable') isUnloadable = true;
      if (message.tell === 'deliver') void runtime.deliver?.(message.delivery);
      if (message.tell === 'again') void logRetry(operator, run, message.step);
    });
    log.run(run, startText(agent, meta), dim(` (pid ${child.pid})`));
    const exit = await child.exited;
    if (ended) return report(operator, run, ended);
    if (processes.isClosed) log.run(run, styled('yellow', 'is cut off; it goes on at the next start'));
    else if (!isUnloadable) {
      const crash = describeCrash(exit, timing.heartbeatTimeoutMs);
      runEnds.rememberCrash(tenant, run, crash);
      log.run(run, styled('red', `pid ${child.pid} ${crash}`));
    }
    return 'crashed';
  }

  /** What is known of a run before anybody runs it. */
  async function readRun({ tenant, run }: Delivery) {
    const contexts = withTenant(runtime.contexts, tenant);
    const context = await contexts.forRun(run);
    const { meta } = (await readLiveHead(context).catch(() => undefined)) ?? {};
    return { operator: createOperator({ ...runtime, contexts }), at: context, meta };
  }

  async function logRetry(operator: Operator, run: string, step: string): Promise<void> {
    const because = await findLastFailure(operator, run, step);
    log.run(run, styled('yellow', `tries "${step}" again`), because === undefined ? '' : `: ${because}`);
  }

  async function logUnloadable(delivery: Delivery): Promise<void> {
    const { file } = files.find(delivery.agent ?? '') ?? {};
    if (file === undefined || unloadable.has(idOf(delivery))) return;
    unloadable.add(idOf(delivery));
    const { operator, meta } = await readRun(delivery);
    if (!meta || hasEnded(meta.status)) return;
    await decisions.logDecided(operator, delivery.run, meta.work?.approvals ?? []);
    log.run(delivery.run, styled('yellow', `is ready; ${shortPath(file)} does not load`));
  }

  /** Says how an invocation went, and what comes next. */
  async function report(
    operator: Operator,
    run: string,
    { ended, steps }: Extract<ProcessMessage, { readonly tell: 'ended' }>,
  ): Promise<NextAction> {
    const view = await operator.run(run).catch(() => undefined);
    const line = describeInvocationEnd(ended, steps, view, runtime.clock.now());
    if (line) log.run(run, ...line);
    if (view && hasEnded(view.status)) await runEnds.logEnd(operator, view, ...(line ? [] : [stepCountText(steps)]));
    else if (ended.end === 'finished') log.run(run, ended.status.toLowerCase(), stepCountText(steps));
    else runEnds.forgetCrash(operator.tenant, run);
    if (view) decisions.remember(view);
    if (view && view.openApprovals.length > 0) onApprovalPending();
    if (ended.end === 'failed') return 'crashed';
    return view?.status === 'READY' && view.parked === undefined ? 'again' : 'over';
  }

  return { invoke, logUnloadable };
}

const idOf = ({ tenant, run }: Delivery): string => JSON.stringify([tenant, run]);

/** What a process is begun for. */
function startText(agent: string, { work, status }: HeadMeta): string {
  if (work?.claimed === undefined) return `starts: ${agent}`;
  if (work.lease?.by === CLAIMANT) return 'goes on where it was cut off';
  if (status !== 'ENDING') return 'goes on';
  return work.ending === 'CANCELLED' ? 'is being cancelled' : 'is being ended';
}
