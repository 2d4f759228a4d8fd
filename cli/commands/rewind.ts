import type { Doc } from '../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { parseCheckpoint } from '../program/parse-arguments.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { confirm } from './input/confirm.ts';
import { editState } from './input/edit-json.ts';
import { jsonArgument } from './input/json-argument.ts';
import { pluralize, printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface RewindOptions extends CommonOptions {
  readonly newKeys?: boolean;
  readonly state?: string;
  readonly edit?: boolean;
  readonly yes?: boolean;
}

/** Lets a run go on from an earlier checkpoint; asks first, since what came after it no longer counts. */
export async function rewind(
  session: Session,
  { run, version }: { readonly run: string; readonly version: string },
  { newKeys = false, yes, state: file, edit }: RewindOptions,
): Promise<void> {
  const stateArgument = await jsonArgument(session.terminal, 'state', undefined, file);
  const target = await session.openTarget();
  const { operator } = target;
  const to = await operator.checkpoint(run, parseCheckpoint(version));
  const { version: newest, openApprovals } = await operator.run(run);
  const after = newest - to.version;
  const consequences = [
    ...(after > 0 ? [`${pluralize(after, 'later checkpoint')} no longer ${after === 1 ? 'counts' : 'count'}`] : []),
    ...(openApprovals.length > 0 ? [`${pluralize(openApprovals.length, 'open approval')} will be withdrawn`] : []),
  ];
  const step = to.step === undefined ? '' : ` ("${to.step}")`;
  const why = consequences.length > 0 ? `: ${consequences.join(', ')}.` : '.';
  await confirm(session, `Run "${run}" goes back to version ${to.version}${step}${why}`, yes);
  const rewindTo = (state: Doc | undefined) =>
    operator.rewind(run, to.version, { newKeys, ...omitUndefined({ state }) });
  if (edit) await editState(session.terminal, stateArgument ?? to.state, rewindTo);
  else await rewindTo(stateArgument);
  const { version: now, status } = await operator.run(run);
  await printResult(session, { run, to: to.version, version: now, status }, () => [
    [styled('green', '✓ '), bold(run), ` goes on from version ${to.version}, as version ${now}`],
  ]);
  await warnIfNoServer(session, target);
}
