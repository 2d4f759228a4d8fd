import { present } from '../../lambda/core/omit-undefined.ts';
import type { Located, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { givenJson } from './input/json-argument.ts';
import { answer } from './output/print-result.ts';
import { tellIfNobodyRuns } from './output/warn-if-no-server.ts';

export interface SignalOptions extends Located {
  readonly input?: string;
  readonly id?: string;
}

/** Sends a signal to a run; one that is not started yet finds it when it is. */
export async function signal(
  session: Session,
  { run, name, given }: { readonly run: string; readonly name: string; readonly given: string | undefined },
  { input, id }: SignalOptions,
): Promise<void> {
  const value = await givenJson(session.terminal, 'value', given, input);
  const place = await session.open();
  const isNew = await place.desk.signal(run, { name, ...present({ value, id }) });
  await answer(session, { run, name, isNew }, () => [
    isNew
      ? [styled('green', '✓ '), 'Sent ', bold(name), ' to ', bold(run)]
      : [styled('yellow', '= '), 'A signal with this id was sent before: ', bold(name), ' to ', bold(run)],
  ]);
  if (isNew) await tellIfNobodyRuns(session, place);
}
