import { ConditionFailedError, type Page, type PageOptions, type StoredRecord, type Write } from '../storage/ports.ts';
import type { RunContext } from './context.ts';
import type { NameMeta } from './meta.ts';
import { type CheckpointRecord, parseKey, readCheckpoint, readName } from './records.ts';

/** Everything that pages hold, one after the other; the next page is read when it is needed. */
export async function* pages(read: (from: { readonly after?: string }) => Promise<Page>): AsyncGenerator<StoredRecord> {
  let after: string | undefined;
  do {
    const page = await read(after === undefined ? {} : { after });
    yield* page.records;
    after = page.next;
  } while (after !== undefined);
}

/** The records of a run, or of a range of its keys. */
export const recordsOf = (at: RunContext, options: PageOptions = {}): AsyncGenerator<StoredRecord> =>
  pages((from) => at.records.range(at.partition, { ...options, ...from }));

/** The first records of a range, at most so many. */
export async function firstRecords(
  at: RunContext,
  options: PageOptions,
  most?: number,
): Promise<readonly StoredRecord[]> {
  const found: StoredRecord[] = [];
  const limited = most === undefined ? options : { ...options, limit: most };
  for await (const record of recordsOf(at, limited)) {
    found.push(record);
    if (found.length === most) break;
  }
  return found;
}

/** A name as it is stored. */
export interface NameRecord {
  readonly stored: StoredRecord;
  readonly meta: NameMeta;
}

/** All checkpoints and names of a run; refuses what is damaged. */
export async function readAll(
  at: RunContext,
): Promise<{ checkpoints: readonly CheckpointRecord[]; names: readonly NameRecord[] }> {
  const checkpoints: CheckpointRecord[] = [];
  const names: NameRecord[] = [];
  for await (const stored of recordsOf(at)) {
    const key = parseKey(stored.key);
    if (typeof key !== 'object') continue;
    if ('version' in key) checkpoints.push(readCheckpoint(stored));
    else names.push({ stored, meta: readName(stored) });
  }
  return { checkpoints, names };
}

const AT_ONCE = 16;

/** Each write by itself, several at once; those whose record has changed meanwhile are left as they are. */
export async function writeEach(at: RunContext, writes: readonly Write[]): Promise<void> {
  const queue = writes.values();
  const worker = async () => {
    for (const write of queue) {
      try {
        await at.records.commit([write]);
      } catch (error) {
        if (!(error instanceof ConditionFailedError)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
