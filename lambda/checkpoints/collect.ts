import { escapeId, idsOf } from '../core/ids.ts';
import type { Context } from './context.ts';
import { payloadsInUse } from './in-use.ts';
import { readAll } from './prune.ts';

// A writer stores payloads first and points at them a moment later; a day is longer than any moment.
const GRACE_MS = 24 * 3_600_000;

export interface CollectResult {
  readonly payloadsRemoved: number;
  readonly bytesRemoved: number;
  /** Runs that could not be looked through, and why; nothing of theirs was removed. */
  readonly failed: readonly { readonly run: string; readonly error: unknown }[];
}

/** Removes the payloads that nothing points at and that were stored more than a day ago: what crashes left behind. */
export async function collect(context: Context): Promise<CollectResult> {
  const result = { payloadsRemoved: 0, bytesRemoved: 0, failed: [] as { run: string; error: unknown }[] };
  const before = context.now() - GRACE_MS;
  const examine = async (partition: string, sizes: ReadonlyMap<string, number>) => {
    const { tenant, run } = idsOf(partition);
    try {
      const { checkpoints } = await readAll({ ...context, tenant, run, partition });
      const loadable = new Set(checkpoints.filter(({ meta }) => !meta.e).map(({ version }) => version));
      const inUse = payloadsInUse(checkpoints, (version) => loadable.has(version));
      const unused = [...sizes.keys()].filter((id) => !inUse.has(id));
      await context.payloads.remove(partition, unused);
      result.payloadsRemoved += unused.length;
      result.bytesRemoved += unused.reduce((sum, id) => sum + (sizes.get(id) ?? 0), 0);
    } catch (error) {
      result.failed.push({ run, error });
    }
  };
  let partition: string | undefined;
  let old = new Map<string, number>();
  for await (const payload of context.payloads.list(`${escapeId('tenant', context.tenant)}/`)) {
    if (partition !== undefined && payload.partition !== partition && old.size > 0) {
      await examine(partition, old);
      old = new Map();
    }
    partition = payload.partition;
    if (payload.writtenAt < before) old.set(payload.id, payload.size);
  }
  if (partition !== undefined && old.size > 0) await examine(partition, old);
  return result;
}
