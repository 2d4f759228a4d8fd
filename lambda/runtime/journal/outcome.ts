import type { HeadMeta, RunOutcome } from '../../checkpoints/engine.ts';
import { isWaitstateError } from '../../core/errors.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { oneLine } from '../../core/one-line.ts';
import type { Entry } from './entries.ts';

type Entries = Iterable<readonly [id: string, entry: Entry]>;

const MAX_CHARACTERS = 120;
const MIN_CHARACTERS = 12;

/**
 * What came of a run, as lists show it: its result, error or reason in a line, unless the run is encrypted. The text is
 * cut so that the head costs no more write units than without it.
 */
export function outcomeOf(
  entries: Entries,
  head: HeadMeta,
  { partition, decision }: { readonly partition: string; readonly decision?: RunOutcome['decision'] },
): RunOutcome | undefined {
  const end = new Map(entries);
  const failure = end.get('@error');
  const error = failure?.error;
  const value = failure ? (Object(error).reason ?? Object(error).message ?? error) : end.get('@result')?.value;
  const code = isWaitstateError(error) ? error.code : undefined;
  const isSecret = head.key !== undefined || head.shredded === true;
  const text = isSecret ? '' : oneLine(value, Math.min(MAX_CHARACTERS, roomInHead(partition, head)));
  const outcome = omitUndefined({ text: text.length > 0 ? text : undefined, code, decision });
  return Object.keys(outcome).length > 0 ? outcome : undefined;
}

const UNIT_BYTES = 1024;
// The names of attributes, the revision, and what the lists repeat besides the owner and the tenant.
const OTHER_BYTES = 260;

/** How many characters fit into the head before it costs another write unit. Some take more than a byte. */
function roomInHead(partition: string, head: HeadMeta): number {
  const bytes =
    Buffer.byteLength(JSON.stringify(head)) + 2 * partition.length + 3 * (head.owner?.length ?? 0) + OTHER_BYTES;
  const room = Math.floor((UNIT_BYTES - (bytes % UNIT_BYTES)) / 3);
  return room < MIN_CHARACTERS ? 0 : room;
}
