import { type Doc, isFields } from '../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { omitUndefined } from '../../lambda/core/omit-undefined.ts';
import type { CheckpointView } from '../../lambda/operator/operator.ts';
import { parseCheckpoint } from '../program/parse-arguments.ts';
import type { CommonOptions, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';
import { actingPerson } from './input/acting-person.ts';
import { confirmRestart } from './input/confirm-restart.ts';
import { editState } from './input/edit-json.ts';
import { jsonArgument } from './input/json-argument.ts';
import { parseJson } from './input/parse-json.ts';
import { printResult } from './output/print-result.ts';
import { warnIfNoServer } from './output/warn-if-no-server.ts';

export interface ForkOptions extends CommonOptions {
  readonly version?: string;
  readonly id?: string;
  readonly state?: string;
  readonly edit?: boolean;
  readonly result?: readonly string[];
  readonly owner?: string;
  readonly as?: string;
  readonly tag?: readonly string[];
  readonly yes?: boolean;
}

/** Starts a new run from a checkpoint, optionally with another state or other results. */
export async function fork(session: Session, run: string, options: ForkOptions): Promise<void> {
  const { id, owner, tag: tags, state: file, edit } = options;
  const given = await jsonArgument(session.terminal, 'state', undefined, file);
  const toolResults = readResults(options.result);
  const requestedBy = actingPerson(session, options.as);
  const target = await session.openTarget();
  const { operator } = target;
  const origin = await operator.checkpoint(
    run,
    options.version === undefined ? undefined : parseCheckpoint(options.version),
  );
  checkResultIds(Object.keys(toolResults ?? {}), run, origin);
  const { steps } = await confirmRestart(session, {
    operator,
    run,
    version: origin.version,
    action: 'fork',
    warning: `A new run will start from version ${origin.version} of run "${run}".`,
    editsState: edit === true || given !== undefined,
    alwaysAsks: false,
    isConfirmed: options.yes,
  });
  const fields = { id, owner, requestedBy, tags, toolResults, state: given };
  const input = { version: origin.version, ...omitUndefined(fields) };
  const forked = edit
    ? await editState(session.terminal, given ?? origin.state, (state) => operator.fork(run, { ...input, state }))
    : await operator.fork(run, input);
  await printResult(session, { run: forked, from: { run, version: origin.version }, repeatedSteps: steps }, () => [
    [styled('green', '✓ '), 'Forked ', bold(run), ` at version ${origin.version}: `, bold(forked)],
  ]);
  await warnIfNoServer(session, target);
}

/** Throws if the checkpoint has no result with one of the ids, and lists those that it has. */
function checkResultIds(ids: readonly string[], run: string, { version, toolResults }: CheckpointView): void {
  const known = Object.keys(toolResults)
    .filter((id) => !id.startsWith('@'))
    .toSorted();
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown === undefined) return;
  const listed = known.slice(0, MAX_IDS_LISTED).join(', ') || 'none';
  const more = known.length > MAX_IDS_LISTED ? ` and ${known.length - MAX_IDS_LISTED} more` : '';
  throw new WaitstateError(
    'INVALID_INPUT',
    `Version ${version} of run "${run}" has no result "${unknown}" to replace. It has: ${listed}${more}. "waitstate state ${shellQuote(run)} ${version} --results" shows them.`,
  );
}

const MAX_IDS_LISTED = 20;

/** Parses results of the form `id=json`. */
function readResults(given: readonly string[] | undefined): Readonly<Record<string, Doc>> | undefined {
  const results = given?.map((text) => {
    const at = text.indexOf('=');
    if (at < 1)
      throw new WaitstateError(
        'INVALID_INPUT',
        `--result must have the form ID=JSON, such as search={"price":270}; found ${text}.`,
      );
    return [text.slice(0, at), parseJson(text.slice(at + 1), `The result of ${text.slice(0, at)}`)] as const;
  });
  const read = results && Object.fromEntries(results);
  return isFields(read) ? read : undefined;
}
