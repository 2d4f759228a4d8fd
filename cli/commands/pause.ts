import type { Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

/** Stops the runs of an agent from being executed. */
export async function pause(session: Session, agent: string): Promise<void> {
  const { operator } = await session.openTarget();
  const isNew = await operator.pauseAgent(agent);
  await printResult(session, { agent, paused: true, isNew }, () => [
    isNew
      ? [styled('green', '✓ '), 'Paused ', bold(agent), '. Its runs stay READY until you unpause it']
      : [styled('yellow', '= '), bold(agent), ' is already paused'],
  ]);
}

/** Allows the runs of an agent to be executed again. */
export async function unpause(session: Session, agent: string): Promise<void> {
  const target = await session.openTarget();
  const isNew = await target.operator.unpauseAgent(agent);
  await printResult(session, { agent, paused: false, isNew }, () => [
    isNew ? [styled('green', '✓ '), 'Unpaused ', bold(agent)] : [styled('yellow', '= '), bold(agent), ' is not paused'],
  ]);
  if (isNew) await warnIfNoServer(session, target, agent);
}
