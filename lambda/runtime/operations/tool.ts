import { encode } from '../../checkpoints/engine.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import type { StepContext, ToolOptions } from '../definition/agent-context.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { Invocation } from '../invocation/invocation.ts';
import { type CacheEntry, type Entry, entryOf, type StepEntry } from '../journal/entries.ts';
import { type Scope, shortHash } from '../journal/identity.ts';
import { canonicalJson } from './canonical.ts';
import { readShared, writeShared } from './shared-cache.ts';
import { checkStepOptions, registerUndo, runOrReplay } from './step.ts';

/** Implements `ctx.tool`. */
export async function tool<A, T>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  args: A,
  run: (args: A, step: StepContext) => T | Promise<T>,
  options: ToolOptions<T> = {},
): Promise<T> {
  invocation.checkCall('ctx.tool', scope);
  if (typeof run !== 'function')
    throw agentMisuse(`\`ctx.tool('${name}', args, …)\` needs a function; found ${typeof run}.`);
  checkStepOptions(invocation, name, options);
  const identity = scope.enter(name, options.callId);
  return invocation.runOperation(identity, async () => {
    const hash = shortHash(canonicalJson(encode(args, { root: `arguments of ${name}`, types: invocation.at.types })));
    const work = {
      id: identity.id,
      kind: 'tool' as const,
      hash,
      run: (step: StepContext) => run(args, step),
      options,
    };
    const cache = toCachePolicy(options.cache);
    if (!cache) return runOrReplay(invocation, scope, work);
    return runThroughCache(invocation, scope, work, { ...cache, name: `@cache:${shortHash(`${name}\n${hash}`)}` });
  });
}

interface CachePolicy {
  readonly name: string;
  readonly ttlMs: number | undefined;
  readonly shared: boolean;
}

function toCachePolicy(cache: ToolOptions['cache']): Omit<CachePolicy, 'name'> | undefined {
  if (!cache) return undefined;
  if (cache === true) return { ttlMs: undefined, shared: false };
  const { ttl, shared = false, ...rest } = cache;
  const duration: Duration | undefined = ttl ?? (Object.keys(rest).length > 0 ? rest : undefined);
  return { ttlMs: duration && toMilliseconds('`cache`', duration), shared };
}

/**
 * Runs a tool call, or reuses a cached value. With a TTL, which value was used is recorded, for a replay to use the
 * same.
 */
async function runThroughCache<T>(
  invocation: Invocation,
  scope: Scope,
  work: Parameters<typeof runOrReplay<T>>[2],
  cache: CachePolicy,
): Promise<T> {
  const { id, hash, kind } = work;
  const { journal, at } = invocation;
  const existing = invocation.recorded(id, kind, hash);
  if (existing?.cached !== undefined) {
    registerUndo(invocation, work);
    return journal.get(existing.cached)?.value as T;
  }
  const newest = newestCacheId(journal, cache.name, cache.ttlMs === undefined ? 1 : Infinity);
  const newestEntry = newest ? entryOf(journal, newest, 'cache') : undefined;
  // Also when nothing new may start: the operations after it may be recorded and need to be replayed.
  if (!existing && newestEntry && cache.ttlMs === undefined) return newestEntry.value as T;
  if (existing || scope.isClosed || !invocation.canBegin) return runOrReplay(invocation, scope, work);
  const isFresh = ({ at: createdAt = 0 }: CacheEntry) =>
    cache.ttlMs === undefined || invocation.now < createdAt + cache.ttlMs;
  if (newest && newestEntry && isFresh(newestEntry)) {
    await invocation.runActive(() => invocation.record({ step: id, entries: [[id, referenceTo(kind, hash, newest)]] }));
    return newestEntry.value as T;
  }
  if (!cache.shared) {
    const nextId = `${cache.name}:${Number(newest?.split(':').at(-1) ?? 0) + 1}`;
    const item = ({ value, ...entry }: StepEntry): BatchItem => {
      // A concurrent call has taken the cache id: this call records its own value instead.
      if (invocation.takenCacheIds.has(nextId)) return { entries: [[id, { ...entry, value }]] };
      invocation.takenCacheIds.add(nextId);
      return {
        entries: [
          [nextId, { kind: 'cache', at: invocation.now, value }],
          [id, { ...entry, ...referenceTo(kind, hash, nextId) }],
        ],
      };
    };
    await runOrReplay(invocation, scope, { ...work, item });
    return journal.get(entryOf(journal, id, kind)?.cached ?? id)?.value as T;
  }
  const shared = await invocation.runStorageCall(() => readShared(at, cache.name));
  if (shared && isFresh(shared)) {
    invocation.isLive = true;
    await invocation.runActive(() =>
      invocation.record({ step: id, entries: [[id, { kind, ...(hash && { hash }), value: shared.value }]] }),
    );
    return journal.get(id)?.value as T;
  }
  const value = await runOrReplay(invocation, scope, work);
  await invocation.runStorageCall(() => writeShared(at, cache.name, value, cache.ttlMs));
  return value;
}

/** The entry of a call that points to a cached value. */
const referenceTo = (kind: StepEntry['kind'], hash: string | undefined, cached: string): StepEntry => ({
  kind,
  ...(hash !== undefined && { hash }),
  cached,
});

/**
 * The id of the newest of the first `max` cached values under a name; older values stay for the calls that used them. A
 * call without a TTL records no entry and always uses the first value, so that a replay finds the same.
 */
function newestCacheId(journal: ReadonlyMap<string, Entry>, name: string, max: number): string | undefined {
  let newest: string | undefined;
  for (let count = 1; count <= max && journal.has(`${name}:${count}`); count++) newest = `${name}:${count}`;
  return newest;
}
