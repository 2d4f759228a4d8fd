import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { checkpointStore } from '../../lambda/embedded.ts';
import { localKeys, payload } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { chatIn, travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';

async function scene() {
  const folder = freshFolder();
  const chats = chatIn(folder);
  const chat = await chats.start({ prompt: 'Be kind.' }, { id: 'chat-7' });
  for (const text of ['one', 'two', 'three']) await chat.signal('message', text);
  const trips = travelIn(folder, { hoursAgo: 1 });
  const trip = await trips.start({ to: 'Lisbon' }, { id: 'trip-42' });
  await trip.approve('book', { by: 'user:ann', comment: 'fine' });
  return { folder, command: runIn(folder) };
}

/** Overwrites the stored content of a run, as a bad disk would. */
function damage(folder: string, run: string): void {
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(join(folder, 'records.sqlite'));
  db.exec(`UPDATE records SET body = x'00' WHERE partition = 'default/${run}' AND body IS NOT NULL`);
  db.close();
}

describe('waitstate verify', () => {
  it('reports that a run is intact, and from which version', async () => {
    const { command } = await scene();
    const { code, out } = await command(['verify', 'chat-7']);
    expect(code).toBe(0);
    expect(out).toMatch(/✓ chat-7 is intact: \d+ checkpoints, 0 payloads, verified from version 1/);
    const [found] = (await command(['verify', 'chat-7', '--json'])).json();
    expect(found).toMatchObject({ run: 'chat-7', ok: true, problems: [], verifiedFrom: 1 });
  });

  it('finds damage in one run and with --all, with exit code 7', async () => {
    const { command, folder } = await scene();
    expect((await command(['verify', '--all'])).out).toMatch(/✓ 2 runs intact, \d+ checkpoints read/);
    damage(folder, 'chat-7');
    const one = await command(['verify', 'chat-7']);
    expect(one.code).toBe(7);
    expect(one.out).toMatch(/✗ chat-7 is damaged/);
    expect(one.out).toMatch(/version \d+: /);
    const all = await command(['verify', '--all']);
    expect(all.code).toBe(7);
    expect(all.out).toContain('1 run damaged, 1 run intact');
    const lines = (await command(['verify', '--all', '--json'])).json();
    expect(lines.map(({ run, ok }) => [run, ok])).toEqual([
      ['trip-42', true],
      ['chat-7', false],
    ]);
  });

  it('needs either a run or --all', async () => {
    const { command } = await scene();
    expect((await command(['verify'])).err).toContain('"waitstate verify --all"');
    expect((await command(['verify', 'chat-7', '--all'])).code).toBe(2);
    expect((await command(['verify', 'nobody'])).code).toBe(3);
  });

  it('shows its progress on a terminal only, and removes it at the end', async () => {
    const { command } = await scene();
    let time = Date.now();
    const slowly = {
      columns: 80,
      now: () => {
        time += 400;
        return time;
      },
    };
    const { err } = await command(['verify', '--all'], slowly);
    expect(stripVTControlCharacters(err)).toMatch(/━+ +\d+ % {2}\d of 2 runs read/);
    expect(err.endsWith('\r\u001b[K')).toBe(true);
    expect((await command(['verify', 'chat-7'], slowly)).err).toMatch(/checkpoints read/);
    expect((await command(['verify', '--all'])).err).toBe('');
  });
});

describe('waitstate prune', () => {
  it('asks for confirmation, prunes old checkpoints, and keeps the rest', async () => {
    const { command } = await scene();
    const no = await command(['prune', 'chat-7', '--keep-last', '2'], { columns: 120, input: 'no' });
    expect(no.err.replace(/\n +/g, ' ')).toMatch(
      /All except the last 2 and those with a name will lose their content permanently\./,
    );
    expect(no.code).toBe(1);
    const [pruned] = (await command(['prune', 'chat-7', '--keep-last', '1', '--yes', '--json'])).json();
    expect(Number(pruned?.emptied)).toBeGreaterThan(0);
    const gone = await command(['state', 'chat-7', '1', '--json']);
    expect([gone.code, gone.error().code]).toEqual([3, 'CHECKPOINT_PRUNED']);
    expect((await command(['state', 'chat-7'])).code).toBe(0);
    expect((await command(['history', 'chat-7'])).out).toContain('(pruned)');
    expect((await command(['prune', 'chat-7', '--keep-last', '1', '-y'])).out).toContain('Nothing to prune');
  });

  it('fails without a terminal, and without --keep-last', async () => {
    const { command } = await scene();
    expect((await command(['prune', 'chat-7', '--keep-last', '2'])).code).toBe(2);
    expect((await command(['prune', 'chat-7'])).err).toContain("'--keep-last <number>' not specified");
    expect((await command(['prune', 'chat-7', '--keep-last', '0', '--yes'])).err).toContain(
      'whole number of at least 1',
    );
  });
});

describe('waitstate export', () => {
  it('writes every checkpoint with its state to a file that can be checked', async () => {
    const { command, folder } = await scene();
    const file = join(folder, 'all.jsonl');
    const { code, out } = await command(['export', '--all', '--out', file]);
    expect(code).toBe(0);
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex');
    expect(out).toContain(`SHA-256 ${sha256}`);
    const lines = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ type }) => type).filter((type) => type !== 'checkpoint')).toEqual([
      'export',
      'run',
      'run',
      'end',
    ]);
    const newest = lines.findLast(({ run }) => run === 'chat-7');
    expect(newest.state.messages).toHaveLength(6);
    expect(lines.at(-1)).toMatchObject({ runs: 2, checkpoints: lines.length - 4 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await command(['export', '--check', file])).out).toMatch(/is intact: 2 runs, \d+ checkpoints/);
  });

  it.each([
    ['a line was removed', (lines: string[]) => lines.toSpliced(5, 1), /line 6: version \d+ follows \d+/],
    [
      'a state was changed',
      (lines: string[]) => lines.map((line) => line.replace('You said: two', 'You said: six')),
      /the SHA-256 does not match/,
    ],
    ['the last line was cut off', (lines: string[]) => lines.slice(0, -1), /the last line is missing/],
    [
      'a line was truncated',
      (lines: string[]) => lines.with(4, (lines[4] ?? '').slice(0, 40)),
      /line 5: not valid JSON/,
    ],
    ['a line was added', (lines: string[]) => [...lines, lines[1] ?? ''], /unexpected line after the end/],
    [
      'two lines were swapped',
      (lines: string[]) => lines.with(3, lines[4] ?? '').with(4, lines[3] ?? ''),
      /version 3 follows 1/,
    ],
  ])('detects with --check that %s', async (_, change, problem) => {
    const { command, folder } = await scene();
    const file = join(folder, 'one.jsonl');
    await command(['export', 'chat-7', '--out', file]);
    writeFileSync(file, `${change(readFileSync(file, 'utf8').trimEnd().split('\n')).join('\n')}\n`);
    const checked = await command(['export', '--check', file]);
    expect(checked.code).toBe(7);
    expect(checked.out).toMatch(problem);
    expect((await command(['export', '--check', file, '--json'])).json()).toMatchObject([{ ok: false, file }]);
  });

  it('detects with --check a wrong previous hash, even if the final hash was recalculated', async () => {
    const { command, folder } = await scene();
    const file = join(folder, 'one.jsonl');
    await command(['export', 'chat-7', '--out', file]);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1);
    const forged = lines.with(
      4,
      (lines[4] ?? '').replace(
        /"previousHash":"(.)/,
        (_, first: string) => `"previousHash":"${first === '_' ? '-' : '_'}`,
      ),
    );
    const sha256 = createHash('sha256')
      .update(`${forged.join('\n')}\n`)
      .digest('hex');
    const end = { type: 'end', runs: 1, checkpoints: lines.length - 2, sha256 };
    writeFileSync(file, `${[...forged, JSON.stringify(end)].join('\n')}\n`);
    const [found] = (await command(['export', '--check', file, '--json'])).json();
    expect(found).toMatchObject({
      ok: false,
      problems: [{ line: 5, problem: 'the hash of version 3 does not match its predecessor' }],
    });
  });

  it('writes the same lines to standard output as to a file', async () => {
    const { command } = await scene();
    const { out, err, json } = await command(['export', 'chat-7']);
    expect(err).toBe('');
    expect(json().at(0)).toMatchObject({ type: 'export', format: 1, tenant: 'default' });
    const hash = createHash('sha256')
      .update(out.slice(0, out.trimEnd().lastIndexOf('\n') + 1))
      .digest('hex');
    expect(json().at(-1)).toMatchObject({ type: 'end', sha256: hash });
  });

  it('references payloads, and exports pruned checkpoints without a state', async () => {
    const folder = freshFolder();
    const store = checkpointStore<object>({ folder });
    const first = await store.save({
      run: 'shots',
      step: 'look',
      state: { shot: payload(Buffer.from('png'), { type: 'image/png' }) },
    });
    const second = await store.save({ run: 'shots', expectedVersion: first, step: 'look', state: { shot: null } });
    await store.save({ run: 'shots', expectedVersion: second, step: 'think' });
    await store.prune('shots', { keepLast: 1 });
    await store.close();
    const lines = (await runIn(folder)(['export', 'shots'])).json<{
      version: number;
      pruned: boolean;
      state?: object;
      payloads?: object[];
    }>();
    const checkpoints = lines.filter(({ version, pruned }) => version !== undefined && pruned !== undefined);
    expect(checkpoints.map(({ pruned }) => pruned)).toContain(false);
    for (const { pruned, state } of checkpoints) expect(state === undefined).toBe(pruned);
  });

  it('leaves no incomplete file behind', async () => {
    const { command, folder } = await scene();
    damage(folder, 'chat-7');
    const file = join(folder, 'damaged.jsonl');
    const { code } = await command(['export', 'chat-7', '--out', file]);
    expect(code).toBe(7);
    expect(readdirSync(folder).filter((name) => name.includes('jsonl'))).toEqual([]);
    expect((await command(['export', 'trip-42', '--out', '/no/such/folder/x'])).code).toBe(2);
  });

  it('skips runs whose key was destroyed, and reports them', async () => {
    const folder = freshFolder();
    const keys = localKeys({ current: 'a', keys: { a: Buffer.alloc(32, 7).toString('base64') } });
    const store = checkpointStore<object>({ folder, keys });
    await store.save({ run: 'secret', step: 'think', state: { a: 1 } });
    await store.shred('secret');
    await store.close();
    const command = runIn(folder);
    const { code, json, err } = await command(['export', '--all']);
    expect([code, json().at(-1)]).toEqual([0, expect.objectContaining({ type: 'end', runs: 0 })]);
    expect(err).toContain('Skipped 1 run');
    expect((await command(['export', 'secret', '--json', '--out', `${folder}/x`])).error().code).toBe('RUN_SHREDDED');
  });

  it('allows verify, history and prune, but not show, without the key of a run', async () => {
    const folder = freshFolder();
    const keys = localKeys({ current: 'a', keys: { a: Buffer.alloc(32, 7).toString('base64') } });
    const store = checkpointStore<object>({ folder, keys });
    let latest = await store.save({ run: 'secret', step: 'think', state: { a: 1 } });
    for (let i = 0; i < 5; i++)
      latest = await store.save({ run: 'secret', expectedVersion: latest, step: 'think', state: { a: i } });
    await store.close();
    const command = runIn(folder);
    expect((await command(['verify', 'secret'])).out).toContain(
      'only the hash chain, because the key is not available',
    );
    expect((await command(['history', 'secret', '--json'])).json()).toHaveLength(6);
    expect((await command(['prune', 'secret', '--keep-last', '1', '--yes'])).code).toBe(0);
    const shown = await command(['show', 'secret', '--json']);
    expect([shown.code, shown.error().code]).toEqual([5, 'KEY_UNAVAILABLE']);
  });

  it('writes the last message of a conversation that has ended', async () => {
    const folder = freshFolder();
    const run = await chatIn(folder).start({ prompt: 'Be kind.' }, { id: 'chat-7' });
    for (const text of ['one', 'bye']) await run.signal('message', text);
    const command = runIn(folder);
    const [line] = (await command(['export', 'chat-7', '--format', 'trajectory'])).json();
    expect(line).toMatchObject({ status: 'SUCCEEDED', source: 'state' });
    expect(line?.messages).toEqual([
      { role: 'user', text: 'one' },
      { role: 'assistant', text: 'You said: one' },
      { role: 'user', text: 'bye' },
    ]);
    expect((await command(['state', 'chat-7'])).out).toContain('"bye"');
  });

  it('writes messages and decisions as training data', async () => {
    const { command } = await scene();
    const lines = (await command(['export', '--all', '--format', 'trajectory'])).json();
    const chat = lines.find(({ run }) => run === 'chat-7');
    expect(chat).toMatchObject({ agent: 'chat', source: 'state', decisions: [] });
    expect(chat?.messages).toEqual(
      ['one', 'two', 'three'].flatMap((text) => [
        { role: 'user', text },
        { role: 'assistant', text: `You said: ${text}` },
      ]),
    );
    const trip = lines.find(({ run }) => run === 'trip-42');
    expect(trip).toMatchObject({
      source: 'journal',
      messages: [
        { role: 'user', content: { to: 'Lisbon' } },
        { role: 'tool', name: 'search flights', content: { id: 'HP 118', price: 1200 } },
        { role: 'tool', name: 'pay', content: { paid: 1200 } },
        { role: 'tool', name: 'book seat', content: 'seat 12A' },
      ],
      decisions: [{ approval: 'book', status: 'APPROVED', votes: [{ by: 'user:ann', comment: 'fine' }] }],
    });
  });
});

describe('waitstate delete', () => {
  it('deletes a run after a confirmation, and only once', async () => {
    const { command } = await scene();
    const asked = await command(['delete', 'trip-42']);
    expect([asked.code, asked.err]).toEqual([2, expect.stringMatching(/deleted permanently: \d+ checkpoints.*--yes/s)]);
    const declined = await command(['delete', 'trip-42'], { columns: 100, input: 'n' });
    expect([declined.code, (await command(['show', 'trip-42'])).code]).toEqual([1, 0]);
    const [deleted] = (await command(['delete', 'trip-42', '--yes', '--json'])).json();
    expect(deleted).toEqual({ run: 'trip-42', deleted: true });
    for (const again of [await command(['delete', 'trip-42', '--yes']), await command(['show', 'trip-42'])])
      expect([again.code, again.err]).toEqual([3, expect.stringContaining('RUN_DELETED')]);
    expect((await command(['delete', 'none', '--yes'])).code).toBe(3);
    expect((await command(['show', 'chat-7'])).code).toBe(0);
  });
});

describe('waitstate shred', () => {
  it('destroys the key of an encrypted run, and refuses others', async () => {
    const folder = freshFolder();
    const keys = localKeys({ current: 'a', keys: { a: Buffer.alloc(32, 7).toString('base64') } });
    const store = checkpointStore<object>({ folder, keys });
    await store.save({ run: 'secret', step: 'think', state: { a: 1 } });
    await checkpointStore<object>({ folder }).save({ run: 'open', state: {} });
    const command = runIn(folder);
    expect((await command(['shred', 'secret'])).err).toMatch(/not even from a backup.*Pass --yes to confirm\./s);
    expect((await command(['shred', 'open', '--yes', '--json'])).error().code).toBe('RUN_NOT_ENCRYPTED');
    expect((await command(['shred', 'secret', '--yes', '--json'])).json()).toEqual([{ run: 'secret', shredded: true }]);
    await expect(checkpointStore<object>({ folder, keys }).load('secret')).rejects.toMatchObject({
      code: 'RUN_SHREDDED',
    });
    expect((await command(['history', 'secret'])).code).toBe(0);
    await store.close();
  });
});

describe('waitstate collect', () => {
  it('removes payloads that no run refers to and that are a day old', async () => {
    const { command, folder } = await scene();
    const { payloads } = embeddedStorage({ folder });
    await payloads.put('default/trip-42', 'x'.repeat(16), Buffer.from('orphan'));
    await payloads.close();
    expect((await command(['collect'])).out).toBe('✓ Removed 0 payloads with 0 bytes\n');
    const old = (Date.now() - 2 * 86_400_000) / 1000;
    for (const file of readdirSync(folder, { recursive: true, withFileTypes: true }))
      if (file.isFile() && file.name.includes('x'.repeat(16))) utimesSync(join(file.parentPath, file.name), old, old);
    expect((await command(['collect', '--json'])).json()).toEqual([
      { payloadsRemoved: 1, bytesRemoved: 6, failed: [] },
    ]);
    expect((await command(['verify', '--all'])).code).toBe(0);
  });
});
