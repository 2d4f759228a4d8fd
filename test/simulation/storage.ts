import { isWaitstateError, WaitstateError } from '../../lambda/core/errors.ts';
import { clockDifference } from '../../lambda/storage/dynamodb/clock-difference.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import type { PayloadStore, RecordStore, Storage, Write } from '../../lambda/storage/ports.ts';
import type { Process } from './process.ts';
import { keyOf } from './truth.ts';
import type { World } from './world.ts';

/** A storage request on the network. */
interface Call<T> {
  readonly what: string;
  /** Executes the request on the storage. */
  readonly make: () => Promise<T>;
  /** Executes the request when it is sent again. @default `make` */
  readonly again?: () => Promise<T>;
}

/** The storage of one process: shared with other processes, with latency and injected faults. */
export function storageFor(world: World, process: Process): Storage {
  const { truth } = world;
  const call = <T>(request: Call<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    if (process.dead) return promise;
    const sentAt = process.clock.now();
    let date = Number.NaN;
    const dated = <R>(make: () => Promise<R>): (() => Promise<R>) => {
      return () => {
        date = Math.floor(world.timeline.now / 1000) * 1000;
        return make();
      };
    };
    const { what, make, again = make } = request;
    const datedCall = { what, make: dated(make), again: dated(again) };
    world.timeline.after(world.chance.between(1, 12), () => arrive(world, process, datedCall, resolve, reject));
    const observe = () => difference.observe(sentAt, process.clock.now(), date);
    promise.then(observe, (error) => isWaitstateError(error, 'STORAGE_UNAVAILABLE') || observe());
    return process.track(promise);
  };
  const difference = clockDifference();
  let signalledPartition: string | undefined;

  const records: RecordStore = {
    maxInlineBytes: world.inlineBytes,
    compressesSmallBodies: false,
    clockAheadMs: () => (truth.broken.trustsOwnClock ? 0 : difference.aheadMs()),
    read: (partition, keys) =>
      call({
        what: `read ${partition} ${keys.join(',')}`,
        make: async () => {
          const hidden = truth.broken.hidesStart && signalledPartition === partition && keys.join() === HEAD_KEY;
          if (hidden) signalledPartition = undefined;
          const found = hidden ? [] : await truth.storage.records.read(partition, keys);
          return truth.broken.read ? found.map(truth.broken.read) : found;
        },
      }),
    range: (partition, options) =>
      call({
        what: `range ${partition} ${options?.from ?? ''}`,
        make: () => truth.storage.records.range(partition, options),
      }),
    list: (list, group, options) =>
      call({
        what: `list ${list} ${group}`,
        make: async () => (await truth.listedBefore(world.faults.lagMs)).records.list(list, group, options),
      }),
    commit: (writes) => {
      const what = `commit ${writes.map(writeName).join(' ')}`;
      if (writes.some((write) => keyOf(write).key.startsWith('w')))
        signalledPartition = keyOf(writes[0] as Write).partition;
      if (!truth.broken.commitsLater)
        return call({
          what,
          make: () => truth.commit(writes, process),
          again: () => truth.commitAgain(writes, process),
        });
      return call({ what, make: async () => confirmEarly(world, process, () => truth.commit(writes, process)) });
    },
    close: async () => {},
  };

  const payloads: PayloadStore = {
    put: (partition, id, content) =>
      call({
        what: `put ${partition} payload`,
        make: async () => {
          const store = () => truth.storage.payloads.put(partition, id, content);
          return truth.broken.payloadsLater ? confirmEarly(world, process, store) : store();
        },
      }),
    open: (partition, id) =>
      call({ what: `open ${partition} payload`, make: () => truth.storage.payloads.open(partition, id) }),
    copy: (from, to) =>
      call({ what: `copy ${from.partition} payload`, make: () => truth.storage.payloads.copy(from, to) }),
    async *list(scope) {
      await call({ what: `list payloads ${scope}`, make: async () => undefined });
      yield* truth.storage.payloads.list(scope);
    },
    remove: (partition, ids) =>
      call({ what: `remove ${partition} payload`, make: () => truth.storage.payloads.remove(partition, ids) }),
    close: async () => {},
  };
  return { records, payloads };
}

/** Makes a write after it was confirmed, as a broken storage does; it is lost if the process dies before. */
function confirmEarly(world: World, process: Process, make: () => Promise<void>): void {
  world.timeline.after(50, async () => {
    if (!process.dead) await make().catch(() => {});
  });
}

const writeName = (write: Write): string => {
  const { partition, key } = keyOf(write);
  return `${'remove' in write ? '-' : ''}${partition}:${key}`;
};

const MAX_LATE_MS = 60_000;
const MAX_SLOW_MS = 30_000;
const MAX_PAUSE_MS = 400_000;

/** Handles a request that reaches the storage; its sender may be dead by then. */
async function arrive<T>(
  world: World,
  process: Process,
  call: Call<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
  arrivedLate = false,
): Promise<void> {
  const { chance } = world;
  if (process.dead && chance.happens(0.5)) return;
  const fault = process.dead || arrivedLate ? undefined : world.faults.nextFault();
  if (fault === 'late') {
    world.note(process, call.what, fault);
    const lateMs = chance.between(100, MAX_LATE_MS);
    process.disturb(lateMs);
    world.timeline.after(lateMs, () => arrive(world, process, call, resolve, reject, true));
    return;
  }
  if (fault === 'killed before' || fault === 'fails') {
    world.note(process, call.what, fault);
    if (fault === 'fails') fail(world, process, reject);
    else process.die();
    return;
  }
  const { value, error } = await outcome(call.make);
  world.note(process, call.what, fault, error);
  if (fault === 'killed after') return process.die();
  if (fault === 'response lost') return fail(world, process, reject);
  if (fault === 'sent twice') return sendAgain(world, process, call, resolve, reject);
  if (fault === 'process pauses') process.pause(chance.between(1, MAX_PAUSE_MS));
  const slowMs = fault === 'slow' ? chance.between(100, MAX_SLOW_MS) : 0;
  if (slowMs > 0) process.disturb(slowMs);
  process.afterDelay(slowMs + responseTime(world), () => (error ? reject(error) : resolve(value as T)));
}

function sendAgain<T>(
  world: World,
  process: Process,
  { what, make, again = make }: Call<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): void {
  process.afterDelay(world.chance.between(10, 5_000), async () => {
    const { value, error } = await outcome(again);
    world.note(process, `again ${what}`, undefined, error);
    process.afterDelay(responseTime(world), () => (error ? reject(error) : resolve(value as T)));
  });
}

const responseTime = ({ chance }: World): number => chance.between(1, 12);

/** Rejects as an adapter does after its last retry. */
function fail(world: World, process: Process, reject: (error: unknown) => void): void {
  const failsAfterMs = world.chance.between(1, 5_000);
  process.disturb(failsAfterMs);
  process.afterDelay(failsAfterMs, () =>
    reject(new WaitstateError('STORAGE_UNAVAILABLE', 'The storage did not respond, as the simulation wanted.')),
  );
}

async function outcome<T>(make: () => Promise<T>): Promise<{ readonly value?: T; readonly error?: unknown }> {
  try {
    return { value: await make() };
  } catch (error) {
    return { error };
  }
}
