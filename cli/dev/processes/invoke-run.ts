import { contextsFor } from '../../../lambda/checkpoints/derived-contexts.ts';
import type { HeadMeta } from '../../../lambda/checkpoints/format/meta.ts';
import { readLiveHead } from '../../../lambda/checkpoints/load.ts';
import { hasEnded } from '../../../lambda/core/status.ts';
import { deskOn } from '../../../lambda/operator/create-operator.ts';
import type { Desk } from '../../../lambda/operator/operator.ts';
import { isPaused } from '../../../lambda/runtime/control/pause-agent.ts';
import type { Delivery, Runtime } from '../../../lambda/runtime/runtime.ts';
import { dim, styled } from '../../terminal/line.ts';
import type { AgentFiles } from '../agents/agent-files.ts';
import { shortPath } from '../log/dev-log.ts';
import { lastFailure } from '../log/error-location.ts';
import { toldDecisions } from '../log/log-decisions.ts';
import type { ToldEnds } from '../log/log-run-ends.ts';
import { crashOf, doneOf, endOf } from '../log/run-report.ts';
import type { Next } from './invocations.ts';
import { CLAIMANT, type JobOptions, jobProcess } from './job-process.ts';
import type { Told } from './messages.ts';

export interface InvokingOptions extends JobOptions {
  readonly runtime: Runtime;
  readonly files: Pick<AgentFiles, 'find'>;
  readonly ends: ToldEnds;
  /** A run waits for people, who are to be told. */
  asked(): void;
}

/** How runs are run from here. */
export interface InvokingRuns {
  invoke(delivery: Delivery): Promise<Next>;
  /** Says, once, that a run is ready and its file does not load. */
  tellUnloadable(delivery: Delivery): Promise<void>;
}

/** Runs runs, each in a process of its own; a run for which there is nothing to do is left alone. */
export function invokingRuns(options: InvokingOptions): InvokingRuns {
  const { runtime, files, log, processes, timing, ends, asked } = options;
  const decisions = toldDecisions(log);
  const unloadable = new Set<string>();

  async function invoke(delivery: Delivery): Promise<Next> {
    const { tenant, run, agent = '' } = delivery;
    const { desk, at, meta } = await look(delivery);
    const found = files.find(agent);
    if (!meta || hasEnded(meta.status) || !found || found.problem || (await isPaused(at, agent))) return 'over';
    unloadable.delete(idOf(delivery));
    await decisions.tell(desk, run, meta.work?.approvals ?? []);

    let ended: Extract<Told, { readonly tell: 'ended' }> | undefined;
    let isUnloadable = false;
    const child = jobProcess(options, found.file, delivery, (told) => {
      if (told.tell === 'ended') ended = told;
      if (told.tell === 'unloadable') isUnloadable = true;
      if (told.tell === 'deliver') void runtime.deliver?.(told.delivery);
      if (told.tell === 'again') void tellAgain(desk, run, told.step);
    });
    log.run(run, beginningOf(agent, meta), dim(` (pid ${child.pid})`));
    const end = await child.over;
    if (ended) return report(desk, run, ended);
    if (processes.isOver) log.run(run, styled('yellow', 'is cut off; it goes on at the next start'));
    else if (!isUnloadable) {
      const how = crashOf(end, timing.silentMs);
      ends.crashed(tenant, run, how);
      log.run(run, styled('red', `pid ${child.pid} ${how}`));
    }
    return 'crashed';
  }

  /** What is known of a run before anybody runs it. */
  async function look({ tenant, run }: Delivery) {
    const contexts = contextsFor(runtime.contexts, tenant);
    const at = await contexts.inRun(run);
    const { meta } = (await readLiveHead(at).catch(() => undefined)) ?? {};
    return { desk: deskOn({ ...runtime, contexts }), at, meta };
  }

  async function tellAgain(desk: Desk, run: string, step: string): Promise<void> {
    const because = await lastFailure(desk, run, step);
    log.run(run, styled('yellow', `tries "${step}" again`), because === undefined ? '' : `: ${because}`);
  }

  async function tellUnloadable(delivery: Delivery): Promise<void> {
    const { file } = files.find(delivery.agent ?? '') ?? {};
    if (file === undefined || unloadable.has(idOf(delivery))) return;
    unloadable.add(idOf(delivery));
    const { desk, meta } = await look(delivery);
    if (!meta || hasEnded(meta.status)) return;
    await decisions.tell(desk, delivery.run, meta.work?.approvals ?? []);
    log.run(delivery.run, styled('yellow', `is ready; ${shortPath(file)} does not load`));
  }

  /** Says how an invocation went, and what comes next. */
  async function report(
    desk: Desk,
    run: string,
    { ended, steps }: Extract<Told, { readonly tell: 'ended' }>,
  ): Promise<Next> {
    const view = await desk.run(run).catch(() => undefined);
    const line = endOf(ended, steps, view, runtime.clock.now());
    if (line) log.run(run, ...line);
    if (view && hasEnded(view.status)) await ends.tell(desk, view, ...(line ? [] : [doneOf(steps)]));
    else if (ended.end === 'finished') log.run(run, ended.status.toLowerCase(), doneOf(steps));
    else ends.wentOn(desk.tenant, run);
    if (view) decisions.remember(view);
    if (view && view.openApprovals.length > 0) asked();
    if (ended.end === 'failed') return 'crashed';
    return view?.status === 'READY' && view.parked === undefined ? 'again' : 'over';
  }

  return { invoke, tellUnloadable };
}

const idOf = ({ tenant, run }: Delivery): string => JSON.stringify([tenant, run]);

/** What a process is begun for. */
function beginningOf(agent: string, { work, status }: HeadMeta): string {
  if (work?.claimed === undefined) return `starts: ${agent}`;
  if (work.lease?.by === CLAIMANT) return 'goes on where it was cut off';
  if (status !== 'ENDING') return 'goes on';
  return work.ending === 'CANCELLED' ? 'is being cancelled' : 'is being ended';
}
