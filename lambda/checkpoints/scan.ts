import { refused } from '../core/input.ts';
import type { Page, PageOptions, StoredRecord } from '../storage/ports.ts';
import type { RunContext } from './context.ts';

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

/** Lists that are each in order, joined into one in that order: what has the smallest number comes first. */
export async function* merged<T>(lists: readonly AsyncGenerator<T>[], orderOf: (item: T) => number): AsyncGenerator<T> {
  const next = async (list: AsyncGenerator<T>) => {
    const { value, done } = await list.next();
    return done ? [] : [{ list, item: value, order: orderOf(value) }];
  };
  let fronts = (await Promise.all(lists.map(next))).flat();
  for (;;) {
    const [first, ...rest] = fronts.toSorted((a, b) => a.order - b.order);
    if (!first) return;
    yield first.item;
    fronts = [...rest, ...(await next(first.list))];
  }
}

/** The first of a list, at most so many; refuses a limit that is none before anything is read. */
export async function* limited<T>(limit: number | undefined, items: AsyncGenerator<T>): AsyncGenerator<T> {
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw refused('`limit`', 'a whole number above 0', limit);
  let count = 0;
  for await (const item of items) {
    yield item;
    if (++count === limit) return;
  }
}
