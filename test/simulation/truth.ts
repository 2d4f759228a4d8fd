import { CHECKPOINT_KEYS, parseVersion, versionKey } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { ConditionFailedError, type Storage, type StoredRecord, type Write } from '../../lambda/storage/ports.ts';
import type { Break } from './breaks.ts';
import type { Process } from './process.ts';
import type { Timeline } from './timeline.ts';

/** A commit, and when it was made. */
export interface LoggedCommit {
  readonly writes: readonly Write[];
  readonly at: number;
}

/** The stored data without faults; calls `onCommit` after each commit. */
export class Truth {
  readonly storage: Storage;
  readonly broken: Break;
  readonly log: LoggedCommit[] = [];
  /** The number of the commit that wrote a checkpoint, by partition and key. */
  readonly writtenBy = new Map<string, number>();
  onCommit: (writes: readonly Write[], by: Process) => Promise<void> = async () => {};
  readonly #timeline: Timeline;
  readonly #lagging: Storage = memoryStorage();
  #laggingCommits = 0;

  constructor(timeline: Timeline, broken: Break) {
    this.#timeline = timeline;
    this.broken = broken;
    this.storage = memoryStorage({ clock: () => timeline.now });
  }

  async find(partition: string, key: string): Promise<StoredRecord | undefined> {
    const [stored] = await this.storage.records.read(partition, [key]);
    return stored;
  }

  /** Makes a commit, altered by the disabled guard if there is one. */
  async commit(requested: readonly Write[], by: Process): Promise<void> {
    const writes = this.broken.write ? await this.#alter(requested) : requested;
    if (this.broken.inParts) return this.#commitInParts(writes, by);
    await this.storage.records.commit(writes);
    await this.#logCommit(writes, by);
  }

  /** Makes a commit again after its response was lost; like the adapters, it recognizes its first attempt. */
  async commitAgain(writes: readonly Write[], by: Process): Promise<void> {
    try {
      await this.commit(writes, by);
    } catch (error) {
      if (!(error instanceof ConditionFailedError) || !wasApplied(writes, error.found)) throw error;
      if (this.broken.forgetsOwn) throw new ConditionFailedError(hideOwnWrites(error.found));
    }
  }

  /** The storage as it was some time ago, for lists that lag behind. */
  async listedBefore(milliseconds: number): Promise<Storage> {
    if (milliseconds === 0) return this.storage;
    for (; this.#laggingCommits < this.log.length; this.#laggingCommits++) {
      const { writes, at } = this.log[this.#laggingCommits] as LoggedCommit;
      if (at > this.#timeline.now - milliseconds) break;
      await this.#lagging.records.commit(await withMetConditions(this.#lagging, writes));
    }
    return this.#lagging;
  }

  async #alter(requested: readonly Write[]): Promise<readonly Write[]> {
    const [first] = requested;
    const home = first ? partitionOf(first) : '';
    const writes: Write[] = [];
    for (const write of requested) {
      const { partition, key } = keyOf(write);
      const stored = await this.find(partition, key);
      const nextVersion = parseVersion(key) > 0 && stored ? await this.#nextVersion(partition) : 0;
      const altered = this.broken.write?.({ write, stored, home, nextVersion });
      if (altered) writes.push(altered);
    }
    return writes;
  }

  async #nextVersion(partition: string): Promise<number> {
    const range = { ...CHECKPOINT_KEYS, newestFirst: true, limit: 1 };
    const { records } = await this.storage.records.range(partition, range);
    return parseVersion(records[0]?.key ?? versionKey(0)) + 1;
  }

  async #commitInParts(writes: readonly Write[], by: Process): Promise<void> {
    const found = new Map<number, StoredRecord | undefined>();
    const made: Write[] = [];
    for (const [index, write] of writes.entries()) {
      try {
        await this.storage.records.commit([write]);
        made.push(write);
      } catch (error) {
        if (!(error instanceof ConditionFailedError)) throw error;
        found.set(index, error.found.get(0));
      }
    }
    await this.#logCommit(made, by);
    if (found.size > 0) throw new ConditionFailedError(found);
  }

  async #logCommit(writes: readonly Write[], by: Process): Promise<void> {
    this.log.push({ writes, at: this.#timeline.now });
    for (const write of writes) {
      const { partition, key } = keyOf(write);
      if (parseVersion(key) > 0) this.writtenBy.set(`${partition} ${key}`, this.log.length);
    }
    await this.onCommit(writes, by);
  }
}

export const keyOf = (write: Write): { readonly partition: string; readonly key: string } => {
  if ('put' in write) return write.put;
  if ('remove' in write) return write.remove;
  throw new Error('Expected a put or a remove; found a write to a foreign table, which the simulation does not have.');
};

const partitionOf = (write: Write): string => keyOf(write).partition;

/** The rule of the DynamoDB adapter: if one put of the commit is stored, the whole commit was applied. */
function wasApplied(writes: readonly Write[], found: ReadonlyMap<number, StoredRecord | undefined>): boolean {
  if (writes.some((write) => 'put' in write))
    return writes.some((write, at) => 'put' in write && found.get(at)?.revision === write.put.revision);
  return writes.every((_, at) => found.has(at) && found.get(at) === undefined);
}

/** The found records as if another writer had written them. */
function hideOwnWrites(found: ReadonlyMap<number, StoredRecord | undefined>): Map<number, StoredRecord | undefined> {
  // A checkpoint is recognized by its write id, so hiding the record is enough.
  return new Map(
    [...found].map(([index, record]) => [index, parseVersion(record?.key ?? '') > 0 ? undefined : record]),
  );
}

/** The same writes with conditions that the storage meets. */
async function withMetConditions(storage: Storage, writes: readonly Write[]): Promise<readonly Write[]> {
  const all: Write[] = [];
  for (const write of writes) {
    const { partition, key } = keyOf(write);
    const [stored] = await storage.records.read(partition, [key]);
    if ('put' in write) all.push({ put: write.put, when: stored ? { revision: stored.revision } : 'absent' });
    else if ('remove' in write && stored) all.push({ remove: write.remove, when: { revision: stored.revision } });
  }
  return all;
}
