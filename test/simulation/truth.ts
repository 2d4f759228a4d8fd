import { CHECKPOINT_KEYS, parseVersion, versionKey } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { ConditionFailedError, type Storage, type StoredRecord, type Write } from '../../lambda/storage/ports.ts';
import type { Break } from './breaks.ts';
import type { Timeline } from './timeline.ts';

/** A commit that was made, and when. */
export interface Committed {
  readonly writes: readonly Write[];
  readonly at: number;
}

/** What is really stored, and who is told of each change. */
export class Truth {
  readonly storage: Storage;
  readonly broken: Break;
  readonly log: Committed[] = [];
  /** The number of the commit that wrote a checkpoint, by partition and key. */
  readonly writtenBy = new Map<string, number>();
  onCommit: (writes: readonly Write[]) => Promise<void> = async () => {};
  readonly #timeline: Timeline;
  readonly #behind: Storage = memoryStorage();
  #shown = 0;

  constructor(timeline: Timeline, broken: Break) {
    this.#timeline = timeline;
    this.broken = broken;
    this.storage = memoryStorage({ clock: () => timeline.now });
  }

  async find(partition: string, key: string): Promise<StoredRecord | undefined> {
    const [stored] = await this.storage.records.read(partition, [key]);
    return stored;
  }

  /** A commit as the storage makes it. */
  async commit(given: readonly Write[]): Promise<void> {
    const writes = this.broken.write ? await this.#alter(given) : given;
    if (this.broken.inParts) return this.#inParts(writes);
    await this.storage.records.commit(writes);
    await this.#made(writes);
  }

  /** A commit that is sent again after its answer was lost, as adapters do it: it recognises itself. */
  async commitAgain(writes: readonly Write[]): Promise<void> {
    try {
      await this.commit(writes);
    } catch (error) {
      if (!(error instanceof ConditionFailedError) || !wasApplied(writes, error.found)) throw error;
      if (this.broken.forgetsOwn) throw new ConditionFailedError(estranged(error.found));
    }
  }

  /** The lists as they were some time ago. */
  async listedBefore(milliseconds: number): Promise<Storage> {
    if (milliseconds === 0) return this.storage;
    for (; this.#shown < this.log.length; this.#shown++) {
      const { writes, at } = this.log[this.#shown] as Committed;
      if (at > this.#timeline.now - milliseconds) break;
      await this.#behind.records.commit(await holding(this.#behind, writes));
    }
    return this.#behind;
  }

  async #alter(given: readonly Write[]): Promise<readonly Write[]> {
    const [first] = given;
    const home = first ? partitionOf(first) : '';
    const writes: Write[] = [];
    for (const write of given) {
      const { partition, key } = keyOf(write);
      const there = await this.find(partition, key);
      const free = parseVersion(key) > 0 && there ? await this.#freeVersion(partition) : 0;
      const altered = this.broken.write?.({ write, there, home, free });
      if (altered) writes.push(altered);
    }
    return writes;
  }

  async #freeVersion(partition: string): Promise<number> {
    const range = { ...CHECKPOINT_KEYS, newestFirst: true, limit: 1 };
    const { records } = await this.storage.records.range(partition, range);
    return parseVersion(records[0]?.key ?? versionKey(0)) + 1;
  }

  async #inParts(writes: readonly Write[]): Promise<void> {
    const found = new Map<number, StoredRecord | undefined>();
    const made: Write[] = [];
    for (const [place, write] of writes.entries()) {
      try {
        await this.storage.records.commit([write]);
        made.push(write);
      } catch (error) {
        if (!(error instanceof ConditionFailedError)) throw error;
        found.set(place, error.found.get(0));
      }
    }
    await this.#made(made);
    if (found.size > 0) throw new ConditionFailedError(found);
  }

  async #made(writes: readonly Write[]): Promise<void> {
    this.log.push({ writes, at: this.#timeline.now });
    for (const write of writes) {
      const { partition, key } = keyOf(write);
      if (parseVersion(key) > 0) this.writtenBy.set(`${partition} ${key}`, this.log.length);
    }
    await this.onCommit(writes);
  }
}

export const keyOf = (write: Write): { readonly partition: string; readonly key: string } => {
  if ('put' in write) return write.put;
  if ('remove' in write) return write.remove;
  throw new Error('The simulation has no foreign writes.');
};

const partitionOf = (write: Write): string => keyOf(write).partition;

/** The rule of the DynamoDB adapter: one put of ours that is there stands for the whole commit. */
function wasApplied(writes: readonly Write[], found: ReadonlyMap<number, StoredRecord | undefined>): boolean {
  if (writes.some((write) => 'put' in write))
    return writes.some((write, at) => 'put' in write && found.get(at)?.revision === write.put.revision);
  return writes.every((_, at) => found.has(at) && found.get(at) === undefined);
}

/** What was found, as if somebody else had written it. */
function estranged(found: ReadonlyMap<number, StoredRecord | undefined>): Map<number, StoredRecord | undefined> {
  // What is there instead of a checkpoint is recognised by its write id; without it there is nothing to recognise.
  return new Map(
    [...found].map(([place, record]) => [place, parseVersion(record?.key ?? '') > 0 ? undefined : record]),
  );
}

/** The same writes with conditions that hold. */
async function holding(storage: Storage, writes: readonly Write[]): Promise<readonly Write[]> {
  const all: Write[] = [];
  for (const write of writes) {
    const { partition, key } = keyOf(write);
    const [there] = await storage.records.read(partition, [key]);
    if ('put' in write) all.push({ put: write.put, when: there ? { revision: there.revision } : 'absent' });
    else if ('remove' in write && there) all.push({ remove: write.remove, when: { revision: there.revision } });
  }
  return all;
}
