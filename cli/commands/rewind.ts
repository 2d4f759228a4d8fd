import type { Doc } from '../../lambda/checkpoints/engine.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import { parseCheckpoint } from '../program/parse-arguments.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { confirmRestart } from './input/confirm-restart.ts';
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

/** Resumes a run from an earlier checkpoint; asks for confirmation, because later checkpoints no longer apply. */
export async function rewind(
  session: Session,
  { run, version }: { readonly run: string; readonly version: string },
  { newKeys = false, yes, state: file, edit }: RewindOptions,
): Promise<void> {
  const stateArgument = await jsonArgument(session.terminal, 'state', undefined, file);
  const target = await session.openTarget();
  const { operator } = target;
  const to = await operator.checkpoint(run, parseCheckpoint(version));
  const { version: newest, pendingApprovals } = await operator.run(run);
  const after = newest - to.version;
  const consequences = [
    ...(after > 0 ? [`${pluralize(after, 'later checkpoint')} will no longer apply`] : []),
    ...(pendingApprovals.length > 0
      ? [`${pluralize(pendingApprovals.length, 'pending approval')} will be withdrawn`]
      : []),
  ];
  const step = to.step === undefined ? '' : ` ("${to.step}")`;
  const why = consequences.length > 0 ? `: ${consequences.join(', ')}.` : '.';
  const { steps } = await confirmRestart(session, {
    operator,
    run,
    version: to.version,
    action: 'rewind',
    warning: `Run "${run}" will resume from version ${to.version}${step}${why}`,
    editsState: edit === true || stateArgument !== undefined,
    alwaysAsks: true,
    isConfirmed: yes,
  });
  const rewindTo = (state: Doc | undefined) =>
    operator.rewind(run, to.version, { newKeys, ...omitUndefined({ state }) });
  if (edit) await editState(session.terminal, stateArgument ?? to.state, rewindTo);
  else await rewindTo(stateArgument);
  const { version: now, status } = await operator.run(run);
  await printResult(session, { run, to: to.version, version: now, status, repeatedSteps: steps }, () => [
    [styled('green', '✓ '), bold(run), ` resumes from version ${to.version}, as version ${now}`],
  ]);
  await warnIfNoServer(session, target);
}
