import { EXIT, type ExitCode } from '../../exit-codes.ts';
import type { Session } from '../../session.ts';
import { jsonText } from '../../terminal/json-text.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { show } from '../show.ts';
import { followRun } from './follow-run.ts';
import { createDescriber } from './logs.ts';

/**
 * Shows a run until it ends: on a terminal, the page of `show`, drawn again when something happens; otherwise a line for
 * each event. Exit code 1 unless the run succeeded.
 */
export async function watch(session: Session, run: string): Promise<ExitCode> {
  const { terminal, isJson } = session;
  const target = await session.openTarget();
  const { clear } = terminal;
  const draw = isJson || !clear ? undefined : () => drawPage(session, clear, run);
  const describe = createDescriber();
  // The page has everything that happened before.
  const after = draw ? String((await target.operator.run(run)).version) : undefined;
  for await (const events of followRun(target, run, { follow: true, after })) {
    if (draw) await draw();
    else if (isJson) for (const event of events) await terminal.write(`${jsonText(event)}\n`);
    else terminal.print(...events.flatMap((event) => describe(event, terminal.now())));
  }
  const { status } = await target.operator.run(run);
  return status === 'SUCCEEDED' ? EXIT.ok : EXIT.failed;
}

/** Draws the page of a run. The screen is cleared only when everything is read, so that it does not flicker. */
async function drawPage(session: Session, clear: () => void, run: string): Promise<void> {
  const { terminal } = session;
  let isClear = false;
  const print: Terminal['print'] = (...lines) => {
    if (!isClear) clear();
    isClear = true;
    terminal.print(...lines);
  };
  await show({ ...session, terminal: { ...terminal, print } }, run, {});
}
