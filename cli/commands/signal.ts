import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { jsonArgument } from './input/json-argument.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface SignalOptions extends CommonOptions {
  readonly input?: string;
  readonly id?: string;
}

/** Sends a signal to a run; a run that is not started yet receives it when it starts. */
export async function signal(
  session: Session,
  { run, name, given }: { readonly run: string; readonly name: string; readonly given: string | undefined },
  { input, id }: SignalOptions,
): Promise<void> {
  const value = await jsonArgument(session.terminal, 'value', given, input);
  const target = await session.openTarget();
  const isNew = await target.operator.signal(run, { name, ...omitUndefined({ value, id }) });
  await printResult(session, { run, name, isNew }, () => [
    isNew
      ? [styled('green', '✓ '), 'Sent ', bold(name), ' to ', bold(run)]
      : [styled('yellow', '= '), 'A signal with this id was already sent: ', bold(name), ' to ', bold(run)],
  ]);
  if (isNew) await warnIfNoServer(session, target);
}
