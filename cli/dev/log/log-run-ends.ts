import type { RunSummary } from '../../../lambda/checkpoints/checkpoint.ts';
import type { Desk, RunView } from '../../../lambda/operator/operator.ts';
import type { Clock } from '../../../lambda/runtime/agent/clock.ts';
import type { Piece } from '../../terminal/line.ts';
import type { DevLog } from './dev-log.ts';
import { errorPlace } from './error-location.ts';
import { finishedOf } from './run-report.ts';

/** Tells in the log how runs ended, each end once, whoever ended them. */
export interface ToldEnds {
  /** Remembers how a process of a run crashed: that may be why the run is given up. */
  crashed(tenant: string, run: string, how: string): void;
  /** Its process came to an end of its own. */
  wentOn(tenant: string, run: string): void;
  tell(desk: Desk, view: RunView, ...after: readonly Piece[]): Promise<void>;
  /** Tells of a run that a list has, unless that was done. */
  tellListed(desk: Desk, summary: RunSummary): Promise<void>;
}

// Runs end for as long as a server lives.
const MOST = 10_000;

export function toldEnds(log: DevLog, clock: Clock): ToldEnds {
  const told = new Map<string, number>();
  const crashes = new Map<string, string>();

  async function tell(desk: Desk, view: RunView, ...after: readonly Piece[]): Promise<void> {
    const { run } = view;
    const id = idOf(desk.tenant, run);
    if (told.get(id) === view.statusChange.version) return;
    told.set(id, view.statusChange.version);
    const [oldest] = told.keys();
    if (told.size > MOST && oldest !== undefined) told.delete(oldest);
    const place = view.status === 'FAILED' ? await errorPlace(desk, run) : undefined;
    const crash = crashes.get(id);
    crashes.delete(id);
    log.run(run, ...finishedOf(view, clock.now(), { place, crash }), ...after);
  }

  return {
    crashed: (tenant, run, how) => void crashes.set(idOf(tenant, run), how),
    wentOn: (tenant, run) => void crashes.delete(idOf(tenant, run)),
    tell,
    async tellListed(desk, { run, statusChange }) {
      if (told.get(idOf(desk.tenant, run)) === statusChange.version) return;
      // What is gone, or under a key, is not told.
      const view = await desk.run(run).catch(() => undefined);
      if (view && view.statusChange.version === statusChange.version) await tell(desk, view);
    },
  };
}

const idOf = (tenant: string, run: string): string => JSON.stringify([tenant, run]);
