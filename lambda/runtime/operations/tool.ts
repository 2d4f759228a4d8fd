import { encode } from '../../checkpoints/engine.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import type { StepContext, ToolOptions } from '../definition/agent-context.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import type { BatchItem } from '../invocation/batch.ts';
import type { Invocation } from '../invocation/invocation.ts';
import type { Entry } from '../journal/entries.ts';
import { type Scope, shortHash } from '../journal/identity.ts';
import { canonicalJson } from './canonical.ts';
import { readShared, writeShared } from './shared-cache.ts';
import { checkStepOptions, registerUndo, runOrReplay } from './step.ts';

/** `ctx.tool` */
export async function tool<A, T>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  args: A,
  run: (args: A, tools: StepContext) => T | Promise<T>,
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
      run: (tools: StepContext) => run(args, tools),
      options,
    };
    const cache = cachePolicy(options.cache);
    if (!cache) return runOrReplay(invocation, scope, work);
    return throughCache(invocation, scope, work, { ...cache, name: `@cache:${shortHash(`${name}\n${hash}`)}` });
  });
}

interface Cache {
  readonly name: string;
  readonly ttlMs: number | undefined;
  readonly shared: boolean;
}

function cachePolicy(cache: ToolOptions['cache']): Omit<Cache, 'name'> | undefined {
  if (!cache) return undefined;
  if (cache === true) return { ttlMs: undefined, shared: false };
  const { ttl, shared = false, ...rest } = cache;
  const duration: Duration | undefined = ttl ?? (Object.keys(rest).length > 0 ? rest : undefined);
  return { ttlMs: duration && toMilliseconds('`cache`', duration), shared };
}

/** A call whose value may be that of an earlier one. What was used is recorded where it depends on the time. */
async function throughCache<T>(
  invocation: Invocation,
  scope: Scope,
  work: Parameters<typeof runOrReplay<T>>[2],
  cache: Cache,
): Promise<T> {
  const { id, hash, kind } = work;
  const { journal, at } = invocation;
  const there = journal.get(id);
  if (there?.cached !== undefined) {
    invocation.checkEntry(id, there, kind, hash);
    registerUndo(invocation, work);
    return journal.get(there.cached)?.value as T;
  }
  const newest = newestOf(journal, cache.name, cache.ttlMs === undefined ? 1 : Infinity);
  const known = newest && journal.get(newest);
  // Also when nothing begins any more: what comes after it may be there to be replayed.
  if (!there && known && cache.ttlMs === undefined) return known.value as T;
  if (there || scope.isClosed || !invocation.canBegin) return runOrReplay(invocation, scope, work);
  const isFresh = ({ at: made = 0 }: Entry) => cache.ttlMs === undefined || invocation.now < made + cache.ttlMs;
  if (newest && known && isFresh(known)) {
    await invocation.runActive(() => invocation.record({ step: id, entries: [[id, cachedCall(kind, hash, newest)]] }));
    return known.value as T;
  }
  if (!cache.shared) {
    const next = `${cache.name}:${Number(newest?.split(':').at(-1) ?? 0) + 1}`;
    const item = ({ value, ...entry }: Entry): BatchItem => {
      // A call at the same time was faster: each keeps what it got.
      if (invocation.takenCacheIds.has(next)) return { entries: [[id, { ...entry, value }]] };
      invocation.takenCacheIds.add(next);
      return {
        entries: [
          [next, { kind: 'cache', at: invocation.now, value }],
          [id, { ...entry, ...cachedCall(kind, hash, next) }],
        ],
      };
    };
    await runOrReplay(invocation, scope, { ...work, item });
    return journal.get(journal.get(id)?.cached ?? id)?.value as T;
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

const cachedCall = (kind: Entry['kind'], hash: string | undefined, cached: string): Entry => ({
  kind,
  ...(hash !== undefined && { hash }),
  cached,
});

/**
 * The newest value under a name, of so many; older ones stay for the calls that used them. A call without a time limit
 * is not recorded and always uses the first, so that a replay finds the same.
 */
function newestOf(journal: ReadonlyMap<string, Entry>, name: string, most: number): string | undefined {
  let newest: string | undefined;
  for (let count = 1; count <= most && journal.has(`${name}:${count}`); count++) newest = `${name}:${count}`;
  return newest;
}
