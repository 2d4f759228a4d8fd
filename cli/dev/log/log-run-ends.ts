import type { RunSummary } from '../../../lambda/checkpoints/engine.ts';
import type { Operator, RunView } from '../../../lambda/operator/operator.ts';
import type { Clock } from '../../../lambda/runtime/clock.ts';
import type { TextSpan } from '../../terminal/line.ts';
import type { DevLog } from './dev-log.ts';
import { findErrorLocation } from './error-location.ts';
import { describeRunEnd } from './run-report.ts';

/** Logs how runs ended, each end once, including runs that another process ended. */
export interface RunEndLog {
  /** Remembers how a process of a run crashed: it may be the reason why the run fails. */
  rememberCrash(tenant: string, run: string, how: string): void;
  /** Forgets the crash, because a later process of the run ended normally. */
  forgetCrash(tenant: string, run: string): void;
  logEnd(operator: Operator, view: RunView, ...after: readonly TextSpan[]): Promise<void>;
  /** Logs the end of a run from a list, unless it is already logged. */
  logListedEnd(operator: Operator, summary: RunSummary): Promise<void>;
}

// Limits the memory of a server that runs for a long time.
const MAX_REMEMBERED = 10_000;

export function createRunEndLog(log: DevLog, clock: Clock): RunEndLog {
  const logged = new Map<string, number>();
  const crashes = new Map<string, string>();

  async function logEnd(operator: Operator, view: RunView, ...after: readonly TextSpan[]): Promise<void> {
    const { run } = view;
    const id = idOf(operator.tenant, run);
    if (logged.get(id) === view.statusChange.version) return;
    logged.set(id, view.statusChange.version);
    const [oldest] = logged.keys();
    if (logged.size > MAX_REMEMBERED && oldest !== undefined) logged.delete(oldest);
    const location = view.status === 'FAILED' ? await findErrorLocation(operator, run) : undefined;
    const crash = crashes.get(id);
    crashes.delete(id);
    log.run(run, ...describeRunEnd(view, clock.now(), { location, crash }), ...after);
  }

  return {
    rememberCrash: (tenant, run, how) => void crashes.set(idOf(tenant, run), how),
    forgetCrash: (tenant, run) => void crashes.delete(idOf(tenant, run)),
    logEnd,
    async logListedEnd(operator, { run, statusChange }) {
      if (logged.get(idOf(operator.tenant, run)) === statusChange.version) return;
      // A deleted or encrypted run is not logged.
      const view = await operator.run(run).catch(() => undefined);
      if (view && view.statusChange.version === statusChange.version) await logEnd(operator, view);
    },
  };
}

const idOf = (tenant: string, run: string): string => JSON.stringify([tenant, run]);
