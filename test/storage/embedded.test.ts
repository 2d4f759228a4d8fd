import { spawn } from 'node:child_process';
import { existsSync, readdirSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { storageError } from '../../lambda/storage/embedded/errors.ts';
import { sqliteRecordStore } from '../../lambda/storage/embedded/sqlite-records.ts';
import type { PayloadStore, StoredRecord, Write } from '../../lambda/storage/ports.ts';
import { payloadStoreContract } from '../contract/payload-store.ts';
import { recordStoreContract } from '../contract/record-store.ts';
import { memoryFolder } from '../memory-folder.ts';
import { type SmallDisk, smallDisk } from './embedded/small-disk.ts';

const base = memoryFolder();
let folders = 0;
const aFolder = (): string => join(base, `${folders++}`, 'made when used');
afterAll(() => rmSync(base, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());

recordStoreContract('a folder', async () => embeddedStorage({ folder: aFolder() }).records);
payloadStoreContract('a folder', async () => embeddedStorage({ folder: aFolder() }).payloads);

const creation = (key: string, body = new Uint8Array(10)): Write => ({
  put: { partition: 't/r', key, revision: key, meta: '', body },
  when: 'absent',
});

async function idsIn(payloads: PayloadStore): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of payloads.list()) ids.push(id);
  return ids.toSorted();
}

async function recordsIn(folder: string): Promise<StoredRecord[]> {
  const { records } = embeddedStorage({ folder });
  const all: StoredRecord[] = [];
  let page = await records.range('t/r');
  for (all.push(...page.records); page.next; all.push(...page.records)) {
    page = await records.range('t/r', { after: page.next });
  }
  await records.close();
  return all;
}

describe('the embedded storage', () => {
  it('creates nothing until it is used', async () => {
    const folder = aFolder();
    const { records, payloads } = embeddedStorage({ folder });
    expect(await idsIn(payloads)).toStrictEqual([]);
    expect(await payloads.open('t/r', 'a')).toBeUndefined();
    await payloads.remove('t/r', ['a']);
    await records.close();
    expect(existsSync(folder)).toBe(false);
  });

  it('reads the data of an earlier instance', async () => {
    const folder = aFolder();
    const earlier = embeddedStorage({ folder });
    await earlier.records.commit([creation('a')]);
    await earlier.payloads.put('t/r', 'p', new Uint8Array(3));
    await earlier.records.close();
    expect((await recordsIn(folder)).map(({ key }) => key)).toStrictEqual(['a']);
    expect(await idsIn(embeddedStorage({ folder }).payloads)).toStrictEqual(['p']);
  });

  it('rejects calls after it was closed', async () => {
    const { records } = embeddedStorage({ folder: aFolder() });
    const early = records.commit([creation('a')]).catch((error: unknown) => error);
    await records.close();
    await records.close();
    expect([undefined, 'STORAGE_UNAVAILABLE']).toContain(Object(await early).code);
    await expect(records.read('t/r', ['a'])).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('dates payloads by the given clock, and copies by the time of the copy', async () => {
    let now = 1_700_000_000_123;
    const { payloads } = embeddedStorage({ folder: aFolder(), clock: () => now });
    await payloads.put('t/r', 'a', new Uint8Array(3));
    now += 1000;
    await payloads.copy({ partition: 't/r', id: 'a' }, { partition: 't/r', id: 'b' });
    const times = new Map<string, number>();
    for await (const { id, writtenAt } of payloads.list('t/r')) times.set(id, writtenAt);
    expect(Object.fromEntries(times)).toStrictEqual({ a: now - 1000, b: now });
  });

  it('hides the warning that SQLite is experimental, and no other', async () => {
    const real = process.getBuiltinModule('node:sqlite');
    const emitWarning = vi.spyOn(process, 'emitWarning').mockReturnValue(undefined);
    vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => {
      process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning');
      process.emitWarning('Something else is experimental', 'ExperimentalWarning');
      return real;
    }) as typeof process.getBuiltinModule);
    await embeddedStorage({ folder: aFolder() }).records.commit([]);
    expect(emitWarning.mock.calls).toStrictEqual([['Something else is experimental', 'ExperimentalWarning']]);
    expect(process.emitWarning).toBe(emitWarning);
  });
});

describe('several processes on one folder', () => {
  const script = fileURLToPath(new URL('./embedded/writer.ts', import.meta.url));
  const start = (folder: string, writer: string, count: number) =>
    spawn(process.execPath, [script, folder, writer, String(count)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const lines = (output: string): string[] => output.split('\n').slice(0, -1);

  it('create each record once between them', async () => {
    const folder = aFolder();
    const writers = ['a', 'b', 'c'].map((name) => ({ name, process: start(folder, name, 200) }));
    const reports = await Promise.all(
      writers.map(async ({ name, process: { stdout, stderr } }) => {
        const [keys, errors] = await Promise.all([text(stdout), text(stderr)]);
        return { name, keys: lines(keys), errors };
      }),
    );
    expect(reports.map(({ errors }) => errors)).toStrictEqual(['', '', '']);
    const reported = reports.flatMap(({ name, keys }) => keys.map((key) => `${name}.${key}`)).toSorted();
    const stored = (await recordsIn(folder)).map(({ key, meta }) => `${meta}.${key}`).toSorted();
    expect(stored).toHaveLength(200);
    expect(stored).toStrictEqual(reported);
    expect(await idsIn(embeddedStorage({ folder }).payloads)).toStrictEqual(reported);
  });

  it('keep everything that a killed process had confirmed', async () => {
    const folder = aFolder();
    const child = start(folder, 'w', 1_000_000);
    let output = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      output += chunk;
      if (lines(output).length >= 100) child.kill('SIGKILL');
    }
    const confirmed = lines(output);
    const stored = new Map((await recordsIn(folder)).map((record) => [record.key, record]));
    expect(confirmed.length).toBeGreaterThanOrEqual(100);
    expect(confirmed.filter((key) => stored.get(key)?.body?.length !== 1000)).toStrictEqual([]);
    const ids = new Set(await idsIn(embeddedStorage({ folder }).payloads));
    expect([...stored.keys()].filter((key) => !ids.has(`w.${key}`))).toStrictEqual([]);
    const { records } = embeddedStorage({ folder });
    await records.commit([creation('written after the kill')]);
    await records.close();
  });

  it('wait for each other while both create the database', async () => {
    const folder = aFolder();
    await embeddedStorage({ folder }).payloads.put('t/r', 'a', new Uint8Array(3));
    const other = new DatabaseSync(join(folder, 'records.sqlite'));
    other.exec('BEGIN EXCLUSIVE');
    const real = process.getBuiltinModule('node:sqlite');
    const load = vi.spyOn(process, 'getBuiltinModule').mockImplementation((() => {
      // The other is done between the first try and the second.
      if (load.mock.calls.length === 2) other.exec('ROLLBACK');
      return real;
    }) as typeof process.getBuiltinModule);
    const records = sqliteRecordStore({ folder, busyTimeoutMs: 20 });
    await records.commit([creation('a')]);
    expect(load).toHaveBeenCalledTimes(2);
    await records.close();
    other.close();
  });

  it('wait for each other for a limited time', async () => {
    const folder = aFolder();
    const records = sqliteRecordStore({ folder, busyTimeoutMs: 20 });
    await records.commit([creation('a')]);
    const other = new DatabaseSync(join(folder, 'records.sqlite'));
    other.exec('BEGIN IMMEDIATE');
    const busy = { code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining(folder) };
    await expect(records.commit([creation('b')])).rejects.toMatchObject(busy);
    await expect(records.commit([creation('b'), creation('c')])).rejects.toMatchObject(busy);
    expect(await records.read('t/r', ['a'])).toHaveLength(1);
    other.exec('ROLLBACK');
    other.close();
    await records.commit([creation('b'), creation('c')]);
    await records.close();
  });
});

describe('a damaged or inaccessible folder', () => {
  async function closedFolder(): Promise<string> {
    const folder = aFolder();
    const { records } = embeddedStorage({ folder });
    for (let i = 0; i < 50; i++) await records.commit([creation(`k${i}`, new Uint8Array(3000))]);
    await records.close();
    return folder;
  }

  it('is rejected when a newer Waitstate wrote it', async () => {
    const folder = await closedFolder();
    const db = new DatabaseSync(join(folder, 'records.sqlite'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    const { records } = embeddedStorage({ folder });
    const tooNew = { code: 'FORMAT_TOO_NEW', message: expect.stringMatching(/format 99.*Update Waitstate/) };
    await expect(records.commit([creation('b')])).rejects.toMatchObject(tooNew);
    await expect(records.read('t/r', ['k1'])).rejects.toMatchObject(tooNew);
  });

  it('is reported as damaged when its database file is not a database', async () => {
    const folder = await closedFolder();
    writeFileSync(join(folder, 'records.sqlite'), 'not a database '.repeat(1000));
    const { records } = embeddedStorage({ folder });
    await expect(records.range('t/r')).rejects.toMatchObject({
      code: 'DAMAGED',
      message: expect.stringContaining(folder),
    });
  });

  it('is reported as damaged when its database is truncated', async () => {
    const folder = await closedFolder();
    truncateSync(join(folder, 'records.sqlite'), 8 * 4096);
    await expect(recordsIn(folder)).rejects.toMatchObject({ code: 'DAMAGED' });
  });

  it('is reported as denied when it is a file', async () => {
    const folder = aFolder();
    const { records, payloads } = embeddedStorage({ folder: join(folder, 'records.sqlite') });
    const database = embeddedStorage({ folder });
    await database.records.commit([creation('a')]);
    await database.records.close();
    const denied = { code: 'STORAGE_DENIED', message: expect.stringContaining(folder) };
    await expect(records.commit([creation('a')])).rejects.toMatchObject(denied);
    await expect(payloads.put('t/r', 'a', new Uint8Array(3))).rejects.toMatchObject(denied);
  });

  it('works as soon as the problem is fixed', async () => {
    const folder = aFolder();
    await embeddedStorage({ folder: join(folder, '..', 'other') }).records.commit([creation('a')]);
    writeFileSync(folder, 'in the way');
    const { records } = embeddedStorage({ folder });
    await expect(records.commit([creation('a')])).rejects.toMatchObject({ code: 'STORAGE_DENIED' });
    rmSync(folder);
    await records.commit([creation('a')]);
    await records.close();
  });

  it.each([
    [{ errcode: 13 }, 'STORAGE_FULL'],
    [{ errcode: 4874 }, 'STORAGE_FULL'],
    [{ errcode: 8 }, 'STORAGE_DENIED'],
    [{ errcode: 1544 }, 'STORAGE_DENIED'],
    [{ errcode: 1032 }, 'STORAGE_MISSING'],
    [{ errcode: 14 }, 'STORAGE_DENIED'],
    [{ errcode: 5 }, 'STORAGE_UNAVAILABLE'],
    [{ errcode: 1034 }, 'STORAGE_UNAVAILABLE'],
    [{ errcode: 18 }, 'RECORD_TOO_LARGE'],
    [{ syscall: 'write', code: 'ENOSPC' }, 'STORAGE_FULL'],
    [{ syscall: 'open', code: 'EROFS' }, 'STORAGE_DENIED'],
    [{ syscall: 'read', code: 'EIO' }, 'STORAGE_UNAVAILABLE'],
  ])('reports %o as %s, with its cause', (fields, code) => {
    const cause = Object.assign(new Error('what the system says'), fields);
    expect(storageError(cause, '/some/folder')).toMatchObject({
      code,
      cause,
      message: expect.stringMatching('/some/folder'),
    });
  });

  it('does not convert unrelated errors', () => {
    const error = new TypeError('a mistake');
    expect(storageError(error, '/some/folder')).toBe(error);
  });
});

describe('a small disk', () => {
  let disk: SmallDisk | undefined;
  afterEach(() => disk?.remove());

  it('keeps confirmed writes when it is full, and accepts more when there is space', async ({ skip }) => {
    disk = smallDisk();
    if (!disk) return skip('this process may not mount a disk');
    const filler = join(disk.folder, 'filler');
    writeFileSync(filler, new Uint8Array(1_000_000));
    const { records, payloads } = embeddedStorage({ folder: join(disk.folder, 'storage') });
    const confirmed: string[] = [];
    const fill = async () => {
      for (let i = 0; i < 1000; i++) {
        await records.commit([creation(`k${i}`, new Uint8Array(3000))]);
        confirmed.push(`k${i}`);
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: 'STORAGE_FULL', message: expect.stringContaining(disk.folder) });
    expect(confirmed.length).toBeGreaterThan(10);
    await expect(records.commit([creation('x', new Uint8Array(9000)), creation('y')])).rejects.toMatchObject({
      code: 'STORAGE_FULL',
    });
    await expect(payloads.put('t/r', 'p', new Uint8Array(1_000_000))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(await records.read('t/r', [...confirmed, 'x', 'y'])).toHaveLength(confirmed.length);
    rmSync(filler);
    await records.commit([creation('x', new Uint8Array(9000)), creation('y')]);
    await payloads.put('t/r', 'p', new Uint8Array(1000));
    expect(await records.read('t/r', [...confirmed, 'x', 'y'])).toHaveLength(confirmed.length + 2);
    expect(readdirSync(join(disk.folder, 'storage', 'payloads')).length).toBe(1);
    await records.close();
  });

  it('is reported as denied when it is read-only', async ({ skip }) => {
    disk = smallDisk();
    if (!disk) return skip('this process may not mount a disk');
    const folder = join(disk.folder, 'storage');
    const earlier = embeddedStorage({ folder });
    await earlier.records.commit([creation('a')]);
    await earlier.payloads.put('t/r', 'p', new Uint8Array(10));
    await earlier.records.close();
    disk.makeReadOnly();
    const { records, payloads } = embeddedStorage({ folder });
    const denied = { code: 'STORAGE_DENIED', message: expect.stringContaining(folder) };
    await expect(records.commit([creation('b')])).rejects.toMatchObject(denied);
    await expect(payloads.put('t/r', 'q', new Uint8Array(10))).rejects.toMatchObject(denied);
    await expect(payloads.remove('t/r', ['p'])).rejects.toMatchObject(denied);
    expect(await idsIn(payloads)).toStrictEqual(['p']);
    await records.close();
  });
});

describe('the folders of payloads', () => {
  it('are removed with the last payload, and have names that do not depend on case or length', async () => {
    const folder = aFolder();
    const { payloads } = embeddedStorage({ folder });
    const partitions = ['t/r', 'T/R', `t/${'long'.repeat(60)}`];
    for (const partition of partitions) await payloads.put(partition, 'a', new Uint8Array(3));
    const names = readdirSync(join(folder, 'payloads'));
    expect(names.filter((name) => /^[0-9a-f]{40}$/.test(name))).toHaveLength(3);
    for (const partition of partitions) await payloads.remove(partition, ['a']);
    expect(readdirSync(join(folder, 'payloads'))).toStrictEqual([]);
  });

  it('exist for every payload, no matter how many are added and removed at once', async () => {
    const folder = aFolder();
    const { payloads } = embeddedStorage({ folder });
    const missed: string[] = [];
    const addAndRemove = async (writer: number) => {
      for (let i = 0; i < 60; i++) {
        const id = `${writer}.${i}`;
        await payloads.put('t/r', id, new Uint8Array(3));
        if (!(await idsIn(payloads)).includes(id)) missed.push(id);
        await payloads.remove('t/r', [id]);
      }
    };
    await Promise.all([1, 2, 3, 4].map(addAndRemove));
    expect(missed).toStrictEqual([]);
    expect(readdirSync(join(folder, 'payloads'))).toStrictEqual([]);
  });

  it('are not blocked by the lock of a process that died', async () => {
    const folder = aFolder();
    const { payloads } = embeddedStorage({ folder });
    await payloads.put('t/r', 'a', new Uint8Array(3));
    const [name = ''] = readdirSync(join(folder, 'payloads'));
    const lock = join(folder, 'payloads', name, 'removing.lock');
    writeFileSync(lock, '');
    utimesSync(lock, 0, 0);
    await payloads.put('t/r', 'b', new Uint8Array(3));
    expect(await idsIn(payloads)).toStrictEqual(['a', 'b']);
    writeFileSync(lock, '');
    utimesSync(lock, 0, 0);
    await payloads.remove('t/r', ['a', 'b']);
    expect(readdirSync(join(folder, 'payloads'))).toStrictEqual([]);
  });

  it('are unchanged after a stream that fails', async () => {
    const folder = aFolder();
    const { payloads } = embeddedStorage({ folder });
    async function* broken() {
      yield new Uint8Array(10);
      throw Object.assign(new Error('from another disk'), { syscall: 'read', code: 'ENOSPC' });
    }
    await expect(payloads.put('t/r', 'a', broken())).rejects.toThrow(/^from another disk$/);
    expect(readdirSync(join(folder, 'payloads'))).toStrictEqual([]);
  });

  it('can hold temporary files, which are not listed and are removed when they are stale', async () => {
    const folder = aFolder();
    const { payloads } = embeddedStorage({ folder });
    await payloads.put('t/r', 'whole', new Uint8Array(3));
    const [name = ''] = readdirSync(join(folder, 'payloads'));
    const [old, young] = ['old.tmp', 'young.tmp'].map((file) => join(folder, 'payloads', name, file));
    if (!old || !young) throw new Error('two paths were made');
    for (const path of [old, young]) writeFileSync(path, 'half');
    utimesSync(old, 0, 0);
    expect(await idsIn(payloads)).toStrictEqual(['whole']);
    expect([existsSync(old), existsSync(young)]).toStrictEqual([false, true]);
    await payloads.remove('t/r', ['whole']);
    expect(existsSync(young)).toBe(true);
    utimesSync(young, 0, 0);
    expect(await idsIn(payloads)).toStrictEqual([]);
    expect(readdirSync(join(folder, 'payloads'))).toStrictEqual([]);
  });
});
