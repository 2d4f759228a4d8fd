import type { Page, PageOptions, StoredRecord } from '../../storage/ports.ts';
import type { RunContext } from '../context.ts';

/** The records of all pages; each page is read when it is needed. */
export async function* scanPages(
  read: (from: { readonly after?: string }) => Promise<Page>,
): AsyncGenerator<StoredRecord> {
  let after: string | undefined;
  do {
    const page = await read(after === undefined ? {} : { after });
    yield* page.records;
    after = page.next;
  } while (after !== undefined);
}

/** The records of a run, or of a range of its keys, read page by page. */
export const scanRecords = (at: RunContext, options: PageOptions = {}): AsyncGenerator<StoredRecord> =>
  scanPages((from) => at.records.range(at.partition, { ...options, ...from }));

/** Reads the first records of a range, up to `max`. */
export async function firstRecords(
  at: RunContext,
  options: PageOptions,
  max?: number,
): Promise<readonly StoredRecord[]> {
  const found: StoredRecord[] = [];
  const limited = max === undefined ? options : { ...options, limit: max };
  for await (const record of scanRecords(at, limited)) {
    found.push(record);
    if (found.length === max) break;
  }
  return found;
}
