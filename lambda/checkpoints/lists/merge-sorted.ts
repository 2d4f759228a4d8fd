import { invalidInput } from '../../core/invalid-input.ts';

/** Merges sorted lists into one sorted list, smallest number first. */
export async function* mergeSorted<T>(
  lists: readonly AsyncGenerator<T>[],
  orderOf: (item: T) => number,
): AsyncGenerator<T> {
  const next = async (list: AsyncGenerator<T>) => {
    const { value, done } = await list.next();
    return done ? [] : [{ list, item: value, order: orderOf(value) }];
  };
  let heads = (await Promise.all(lists.map(next))).flat();
  for (;;) {
    const [first, ...rest] = heads.toSorted((a, b) => a.order - b.order);
    if (!first) return;
    yield first.item;
    heads = [...rest, ...(await next(first.list))];
  }
}

/** Yields at most `limit` items; rejects an invalid limit before anything is read. */
export async function* takeUpTo<T>(limit: number | undefined, items: AsyncGenerator<T>): AsyncGenerator<T> {
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0))
    throw invalidInput('`limit`', 'a whole number above 0', limit);
  let count = 0;
  for await (const item of items) {
    yield item;
    if (++count === limit) return;
  }
}
