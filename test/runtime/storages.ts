import { rmSync } from 'node:fs';
import { describe, onTestFinished } from 'vitest';
import type { HeadMeta } from '../../lambda/checkpoints/format/meta.ts';
import { readHead } from '../../lambda/checkpoints/format/records.ts';
import { readLiveHead } from '../../lambda/checkpoints/read-head.ts';
import type { AnyAgent } from '../../lambda/runtime/agent/agent.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Clock } from '../../lambda/runtime/clock.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage, Write } from '../../lambda/storage/ports.ts';
import { awsStorage } from '../engines/engines.ts';
import { memoryFolder } from '../memory-folder.ts';

/** A storage in a folder that is removed after the test. */
export function folderStorage(): Storage {
  const folder = memoryFolder();
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return embeddedStorage({ folder });
}

/** Runs the same tests on each storage. */
export const describeOnEachStorage = (name: string, tests: (open: () => Promise<Storage>) => void): void =>
  describe.each([
    ['in memory', async () => memoryStorage()],
    ['in a folder', async () => folderStorage()],
    ['on DynamoDB and S3', awsStorage],
  ] as const)(`${name}, %s`, (_, open) =>
    tests(async () => {
      const storage = await open();
      onTestFinished(async () => {
        await storage.records.close();
        await storage.payloads.close();
      });
      return storage;
    }),
  );

/** A storage that passes every commit to `around`, which can act before it, after it or instead of it. */
export const interceptCommits = (
  storage: Storage,
  around: (writes: readonly Write[], commit: () => Promise<void>) => Promise<void>,
): Storage => ({
  records: { ...storage.records, commit: (writes) => around(writes, () => storage.records.commit(writes)) },
  payloads: storage.payloads,
});

/** A storage that runs an event once, right before the first commit that matches. */
export function withEventBefore(storage: Storage, matches: (writes: readonly Write[]) => boolean): InterceptedStorage {
  const hook: { event: (() => Promise<unknown>) | undefined } = { event: undefined };
  const around = async (writes: readonly Write[], commit: () => Promise<void>) => {
    const { event } = hook;
    if (event && matches(writes)) {
      hook.event = undefined;
      await event();
    }
    await commit();
  };
  return Object.assign(interceptCommits(storage, around), { hook });
}

export type InterceptedStorage = Storage & { readonly hook: { event: (() => Promise<unknown>) | undefined } };

/** The head that a commit writes, if it writes one. */
export function headIn(writes: readonly Write[]): HeadMeta | undefined {
  const put = writes.flatMap((write) => ('put' in write && write.put.key === HEAD_KEY ? write.put : []))[0];
  return put && readHead(put).meta;
}

/** The head of a run as it is stored. */
export const headOf = async (agent: AnyAgent, run: string): Promise<HeadMeta> =>
  (await readLiveHead(await agent.runtime.contexts.forRun(run))).meta;

/** The number of calls of each method of a record store. */
export interface Calls {
  read: number;
  range: number;
  list: number;
  commit: number;
}

/** A storage whose calls are counted. */
export function counted(storage: Storage): { readonly storage: Storage; readonly calls: Calls } {
  const calls: Calls = { read: 0, range: 0, list: 0, commit: 0 };
  const { records, payloads } = storage;
  const counting =
    <M extends keyof Calls>(method: M) =>
    (...args: never): never => {
      calls[method] += 1;
      return (records[method] as (...given: never) => never)(...args);
    };
  const all = { read: counting('read'), range: counting('range'), list: counting('list'), commit: counting('commit') };
  return { storage: { records: { ...records, ...all }, payloads }, calls };
}

/** The options of an agent for another process that shares its storage and clock but delivers nothing. */
export const otherProcessOptions = ({
  agent,
  clock,
}: {
  readonly agent: AnyAgent;
  readonly clock: Clock;
}): AgentOptions => ({
  storage: async () => {
    const { records, payloads } = await agent.runtime.contexts.forTenant();
    return { records, payloads };
  },
  clock,
  log: () => {},
  random: () => 0.5,
});

/** A promise that stays pending until the gate is opened. */
export const gate = (): { readonly opened: Promise<void>; open(): void } => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
};
