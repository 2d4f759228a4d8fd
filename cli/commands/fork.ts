import { type Doc, isFields } from '../../lambda/checkpoints/document/document.ts';
import { HoldpointError, isHoldpointError } from '../../lambda/core/errors.ts';
import { present } from '../../lambda/core/present.ts';
import type { CheckpointView, Desk, ForkInput } from '../../lambda/desk/desk.ts';
import { which } from '../program/reading.ts';
import type { Located, Session } from '../session.ts';
import { bold, styled } from '../terminal/line.ts';
import { Declined } from '../terminal/said-no.ts';
import { answer } from './answer.ts';
import { editJson } from './edit-json.ts';
import { givenJson } from './given-json.ts';
import { tellIfNobodyRuns } from './made-ready.ts';
import { readJson } from './read-json.ts';

export interface ForkOptions extends Located {
  readonly version?: string;
  readonly id?: string;
  readonly state?: string;
  readonly edit?: boolean;
  readonly result?: readonly string[];
  readonly owner?: string;
  readonly tag?: readonly string[];
}

/** Begins a new run at a checkpoint, perhaps with another state or other results. */
export async function fork(session: Session, run: string, options: ForkOptions): Promise<void> {
  const { id, owner, tag: tags, state: file, edit } = options;
  const given = await givenJson(session.terminal, 'state', undefined, file);
  const toolResults = readResults(options.result);
  const place = await session.open();
  const { desk } = place;
  const origin = await desk.checkpoint(run, options.version === undefined ? undefined : which(options.version));
  const input = { version: origin.version, ...present({ id, owner, tags, toolResults, state: given }) };
  const forked = edit ? await editAndFork(session, desk, origin, input) : await desk.fork(run, input);
  await answer(session, { run: forked, from: { run, version: origin.version } }, () => [
    [styled('green', '✓ '), 'Forked ', bold(run), ` at version ${origin.version}: `, bold(forked)],
  ]);
  await tellIfNobodyRuns(session, place);
}

/** Lets somebody edit the state until it is taken, or they give up. */
async function editAndFork(session: Session, desk: Desk, origin: CheckpointView, input: ForkInput): Promise<string> {
  const before = input.state ?? origin.state;
  let forked: string | undefined;
  const take = async (state: Doc) => {
    forked = await desk.fork(origin.run, { ...input, state });
  };
  await editJson(session.terminal, before, take, isOfTheState);
  if (forked === undefined) throw new Declined();
  return forked;
}

/** Whether it is the state that was refused, so that another one may be taken. */
const isOfTheState = (error: unknown): error is HoldpointError =>
  isHoldpointError(error, 'INVALID_INPUT', 'UNSUPPORTED_VALUE', 'SCHEMA_REFUSED', 'DAMAGED');

/** Results by id, as `id=json`. */
function readResults(given: readonly string[] | undefined): Readonly<Record<string, Doc>> | undefined {
  const results = given?.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new HoldpointError('INVALID_INPUT', `--result must be like search={"price":270}; found ${text}.`);
    return [text.slice(0, at), readJson(text.slice(at + 1), `The result of ${text.slice(0, at)}`)] as const;
  });
  const read = results && Object.fromEntries(results);
  return isFields(read) ? read : undefined;
}
