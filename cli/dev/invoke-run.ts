import { contextsFor } from '../../lambda/checkpoints/contexts.ts';
import { readLiveHead } from '../../lambda/checkpoints/open.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import type { Desk } from '../../lambda/desk/desk.ts';
import { deskOn } from '../../lambda/desk/desk-on.ts';
import { isPaused } from '../../lambda/runtime/pausing.ts';
import type { Delivery, Runtime } from '../../lambda/runtime/runtime.ts';
import { dim, styled } from '../terminal/line.ts';
import type { AgentFiles } from './agent-files.ts';
import type { Next } from './invocations.ts';
import { CLAIMANT, type JobOptions, jobProcess } from './job-process.ts';
import type { Told } from './messages.ts';
import { crashOf, endOf } from './run-report.ts';
import { toldDecisions } from './told-decisions.ts';

export interface InvokingOptions extends JobOptions {
  readonly runtime: Runtime;
  readonly files: Pick<AgentFiles, 'find'>;
  /** A run waits for people, who are to be told. */
  asked(): void;
}

/** Runs runs, each in a process of its own; a run for which there is nothing to do is left alone. */
export function invokingRuns(options: InvokingOptions): (delivery: Delivery) => Promise<Next> {
  const { runtime, files, log, processes, timing, asked } = options;
  const decisions = toldDecisions(log);

  return async (delivery) => {
    const { tenant, run, agent = '' } = delivery;
    const contexts = contextsFor(runtime.contexts, tenant);
    const desk = deskOn({ ...runtime, contexts });
    const at = await contexts.inRun(run);
    const { meta } = (await readLiveHead(at).catch(() => undefined)) ?? {};
    const found = files.find(agent);
    if (!meta || hasEnded(meta.status) || !found || found.problem || (await isPaused(at, agent))) return 'over';
    await decisions.tell(desk, run, meta.work?.approvals ?? []);

    let ended: Extract<Told, { readonly tell: 'ended' }> | undefined;
    let isUnloadable = false;
    const child = jobProcess(options, found.file, delivery, (told) => {
      if (told.tell === 'ended') ended = told;
      if (told.tell === 'unloadable') isUnloadable = true;
      if (told.tell === 'deliver') void runtime.deliver?.(told.delivery);
    });
    const wasCutOff = meta.work?.lease?.by === CLAIMANT;
    const beginning =
      meta.work?.claimed === undefined ? `starts: ${agent}` : wasCutOff ? 'goes on where it was cut off' : 'goes on';
    log.run(run, beginning, dim(` (pid ${child.pid})`));
    const end = await child.over;
    if (ended) return report(desk, run, ended);
    if (processes.isOver) log.run(run, styled('yellow', 'is cut off; it goes on at the next start'));
    else if (!isUnloadable) log.run(run, styled('red', `pid ${child.pid} ${crashOf(end, timing.silentMs)}`));
    return 'crashed';
  };

  /** Says how an invocation went, and what comes next. */
  async function report(
    desk: Desk,
    run: string,
    { ended, steps }: Extract<Told, { readonly tell: 'ended' }>,
  ): Promise<Next> {
    const view = await desk.run(run).catch(() => undefined);
    const line = endOf(ended, steps, view, runtime.clock.now());
    if (line) log.run(run, ...line);
    if (view) decisions.remember(view);
    if (view && view.openApprovals.length > 0) asked();
    if (ended.end === 'failed') return 'crashed';
    return view?.status === 'READY' && view.parked === undefined ? 'again' : 'over';
  }
}
