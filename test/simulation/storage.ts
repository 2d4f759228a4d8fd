import { WaitstateError } from '../../lambda/core/errors.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import type { PayloadStore, RecordStore, Storage, Write } from '../../lambda/storage/ports.ts';
import type { Fault } from './faults.ts';
import type { Process } from './process.ts';
import { keyOf } from './truth.ts';
import type { World } from './world.ts';

/** A call as it goes over the network. */
interface Call<T> {
  readonly what: string;
  /** What the storage does. */
  readonly make: () => Promise<T>;
  /** What it does when the same is sent again. @default the same */
  readonly again?: () => Promise<T>;
}

/** The storage as one process sees it: far away, shared with others, and not to be relied on. */
export function storageFor(world: World, process: Process): Storage {
  const { truth } = world;
  const call = <T>(given: Call<T>): Promise<T> => {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    world.timeline.after(world.chance.between(1, 12), () => arrive(world, process, given, resolve, reject));
    return process.awaits(promise);
  };
  let kept: string | undefined;

  const records: RecordStore = {
    maxInlineBytes: world.inlineBytes,
    compressesSmallBodies: false,
    read: (partition, keys) =>
      call({
        what: `read ${partition} ${keys.join(',')}`,
        make: async () => {
          const hidden = truth.broken.hidesStart && kept === partition && keys.join() === HEAD_KEY;
          if (hidden) kept = undefined;
          return hidden ? [] : truth.storage.records.read(partition, keys);
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
      const what = `commit ${writes.map(nameOf).join(' ')}`;
      if (writes.some((write) => keyOf(write).key.startsWith('w'))) kept = keyOf(writes[0] as Write).partition;
      if (!truth.broken.commitsLater)
        return call({ what, make: () => truth.commit(writes), again: () => truth.commitAgain(writes) });
      return call({ what, make: async () => later(world, process, () => truth.commit(writes)) });
    },
    close: async () => {},
  };

  const payloads: PayloadStore = {
    put: (partition, id, content) =>
      call({
        what: `put ${partition} payload`,
        make: async () => {
          const store = () => truth.storage.payloads.put(partition, id, content);
          return truth.broken.payloadsLater ? later(world, process, store) : store();
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

/** What a broken storage has confirmed and not done; it is lost when the process dies before. */
function later(world: World, process: Process, make: () => Promise<void>): void {
  world.timeline.after(50, async () => {
    if (!process.dead) await make().catch(() => {});
  });
}

const nameOf = (write: Write): string => {
  const { partition, key } = keyOf(write);
  return `${'remove' in write ? '-' : ''}${partition}:${key}`;
};

const LATE_MS = 60_000;
const SLOW_MS = 30_000;
const STANDS_MS = 400_000;

/** A request reaches the storage; whoever sent it may be dead by then. */
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
  const fault = process.dead || arrivedLate ? undefined : world.faults.ofCall();
  if (fault === 'late' || fault === 'slow') process.touched = true;
  if (fault === 'late') {
    world.note(process, call.what, fault);
    world.timeline.after(chance.between(100, LATE_MS), () => arrive(world, process, call, resolve, reject, true));
    return;
  }
  if (fault === 'killed before' || fault === 'fails') {
    world.note(process, call.what, fault);
    if (fault === 'fails') fail(world, process, reject);
    else process.die();
    return;
  }
  const { answer, error } = await outcome(call.make);
  world.note(process, call.what, fault, error);
  if (fault === 'killed after') return process.die();
  if (fault === 'answer lost') return fail(world, process, reject);
  if (fault === 'sent twice') return sendAgain(world, process, call, resolve, reject);
  if (fault === 'stands still') process.stand(chance.between(1, STANDS_MS));
  process.reach(answerTime(world, fault), () => (error ? reject(error) : resolve(answer as T)));
}

function sendAgain<T>(
  world: World,
  process: Process,
  { what, make, again = make }: Call<T>,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): void {
  process.reach(world.chance.between(10, 5_000), async () => {
    const { answer, error } = await outcome(again);
    world.note(process, `again ${what}`, undefined, error);
    process.reach(answerTime(world, undefined), () => (error ? reject(error) : resolve(answer as T)));
  });
}

const answerTime = ({ chance }: World, fault: Fault | undefined): number =>
  fault === 'slow' ? chance.between(100, SLOW_MS) : chance.between(1, 12);

/** The adapter has tried often enough. */
function fail(world: World, process: Process, reject: (error: unknown) => void): void {
  process.touched = true;
  process.reach(world.chance.between(1, 5_000), () =>
    reject(new WaitstateError('STORAGE_UNAVAILABLE', 'The storage did not answer, as the simulation wanted.')),
  );
}

async function outcome<T>(make: () => Promise<T>): Promise<{ readonly answer?: T; readonly error?: unknown }> {
  try {
    return { answer: await make() };
  } catch (error) {
    return { error };
  }
}
