import { isFields } from '../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { hasEnded } from '../../lambda/core/status.ts';
import type { Operator, RunView } from '../../lambda/operator/operator.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { statusText } from '../terminal/status-style.ts';
import { confirm } from './input/confirm.ts';
import { pluralize, printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface CancelOptions extends CommonOptions {
  readonly reason?: string;
  readonly yes?: boolean;
}

/** Cancels a run; asks for confirmation if there are steps to undo. */
export async function cancel(session: Session, run: string, { reason, yes }: CancelOptions): Promise<void> {
  const target = await session.openTarget();
  const view = await target.operator.run(run);
  const stepNames = hasEnded(view.status) ? [] : await stepsToUndo(target.operator, view);
  if (stepNames.length > 0) {
    const steps = `${pluralize(stepNames.length, 'step')}: ${stepNames.join(', ')}`;
    await confirm(session, `Cancelling run "${run}" will undo ${steps}.`, yes);
  }
  const status = await target.operator.cancel(run, ...(reason === undefined ? [] : ([reason] as const)));
  if (hasEnded(status) && status !== 'CANCELLED')
    throw new WaitstateError('RUN_ENDED', `Run "${run}" has already ended (${status}), so it cannot be cancelled.`);
  await printResult(session, { run, status, ...omitUndefined({ reason }) }, () => [
    [
      view.status === 'CANCELLED' ? styled('yellow', '= ') : styled('green', '✓ '),
      bold(run),
      view.status === 'CANCELLED' ? ' was already cancelled: ' : ' is ',
      statusText(status),
      ...(status === 'ENDING' ? [' while its steps are undone'] : []),
    ],
  ]);
  if (!hasEnded(status)) await warnIfNoServer(session, target);
}

/** The completed steps that can be undone, the last one first. */
async function stepsToUndo(operator: Operator, { run, isDurable }: RunView): Promise<readonly string[]> {
  if (!isDurable) return [];
  const { toolResults } = await operator.checkpoint(run);
  return Object.entries(toolResults)
    .filter(([, entry]) => isFields(entry) && entry.undo === true && !Object.hasOwn(entry, 'error'))
    .map(([id]) => id.replace(/^@kept:/, ''))
    .reverse();
}
