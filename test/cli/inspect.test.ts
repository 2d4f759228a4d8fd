import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { type Chat, chatIn, travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';

/** A folder with four runs: one waits for approval, one has resumed after it, one failed, one was cancelled. */
async function scene() {
  const folder = freshFolder();
  const world = travelIn(folder);
  await world.start({ to: 'Lisbon' }, { id: 'trip-41', owner: 'user:ann', tags: ['spring'] });
  await world.start({ to: 'Porto' }, { id: 'trip-42', owner: 'user:bob' });
  await world.start({ to: 'Nowhere' }, { id: 'trip-43' });
  await world.start({ to: 'Rome' }, { id: 'trip-44' });
  await world.skip({ hours: 5 });
  world.crash({ after: 'pay' });
  await world.run('trip-42').approve('book', { by: 'user:ann', comment: 'fine' });
  await world.skip({ minutes: 1 });
  await world.run('trip-44').cancel('The customer called.');
  return { folder, world, command: runIn(folder, { now: () => world.clock.now() }) };
}

describe('waitstate runs', () => {
  it('lists runs with their status, age and what came of them, last updated first', async () => {
    const { command } = await scene();
    const { code, out, err } = await command(['runs']);
    expect(code).toBe(0);
    expect(err).toBe('');
    const [head, first] = out.split('\n');
    expect(head?.split(/\s+/)).toEqual(['RUN', 'STATUS', 'AGENT', 'DETAILS', 'OWNER', 'TAGS', 'UPDATED']);
    expect(first).toMatch(/^trip-44 +CANCELLED +travel +The customer called\. .*now$/);
    expect(out).toMatch(/trip-41 +WAITING_FOR_APPROVAL +travel +approval book +user:ann +spring +5h ago/);
  });

  it.each([
    [['--status', 'failed'], ['trip-43']],
    [
      ['-s', 'cancelled,FAILED'],
      ['trip-44', 'trip-43'],
    ],
    [['-s', 'waiting-for-signal'], ['trip-42']],
    [['--owner', 'user:ann'], ['trip-41']],
    [['--tag', 'spring'], ['trip-41']],
    [['--status', 'failed', '--step', 'search flights'], ['trip-43']],
    [['--status', 'failed', '--step', '1'], ['trip-43']],
    [['--status', 'failed', '--step', 'pay'], []],
    [
      ['--id', '-4', '--agent', 'travel', '--limit', '2'],
      ['trip-44', 'trip-42'],
    ],
    [['--agent', 'other'], []],
  ])('filters runs by the options %j', async (filter, expected) => {
    const { command } = await scene();
    const { code, json } = await command(['runs', '--json', ...filter]);
    expect(code).toBe(0);
    expect(json().map(({ run }) => run)).toEqual(expected);
  });

  it('prints exact times and no styles as JSON', async () => {
    const { command } = await scene();
    const { out, err, json } = await command(['runs', '--json', '-n', '1'], { columns: 40 });
    expect(err).toBe('');
    expect(stripVTControlCharacters(out)).toBe(out);
    const [run] = json();
    expect(run).toMatchObject({ run: 'trip-44', status: 'CANCELLED', agent: 'travel', tags: [] });
    expect(new Date(String(run?.updatedAt)).toISOString()).toBe(run?.updatedAt);
  });

  it('reports that no runs were found, or that there are more', async () => {
    const { command } = await scene();
    expect((await command(['runs', '--agent', 'other'])).err).toBe('No runs found.\n');
    expect((await command(['runs', '-n', '2'])).err).toContain('There are more. Use --limit 10, or --all.');
  });

  it('counts runs by status', async () => {
    const { command } = await scene();
    expect((await command(['runs', '--count'])).out).toMatch(/FAILED +1\n/);
    const [counts] = (await command(['runs', '--count', '--json'])).json();
    expect(counts).toMatchObject({ FAILED: { count: 1, hasMore: false }, READY: { count: 0 } });
  });
});

describe('waitstate show', () => {
  it('draws steps, waits, failures and crashes, and what the run waits for now', async () => {
    const { command, world } = await scene();
    await world.skip({ hours: 10 });
    const { code, out } = await command(['show', 'trip-42'], { columns: 80 });
    expect(code).toBe(0);
    const text = stripVTControlCharacters(out);
    expect(text).toMatch(/^trip-42 {2}WAITING_FOR_SIGNAL\n/);
    expect(text).toMatch(/waits for {2}signal departed/);
    expect(text).toMatch(/ 3 {2}search flights +█+ +1\.4s/);
    expect(text).toMatch(/waiting for approval book +░┄+░ +5h/);
    expect(text).toMatch(/✗ lost to a crash +╳+ +2\.3s/);
    expect(text).toMatch(/! book seat failed +▓+ +800ms/);
    expect(text).toMatch(/waiting for signal depar… +░┄+░ +10h/);
    expect(text).toMatch(/█ worked [\d.]+s {3}░ waited 15h .*▓ 1 failed attempt 800ms.*╳ 1 crash 2\.3s/);
    expect(text).toContain(`waitstate signal trip-42 departed '…'`);
  });

  it('starts each bar where the previous one ends', async () => {
    const { command } = await scene();
    const { out } = await command(['show', 'trip-42'], { columns: 100 });
    const starts = stripVTControlCharacters(out)
      .split('\n')
      .flatMap((line) => (/^ {2}[ \d]{2} {2}/.test(line) ? [line.search(/[█░▓╳·▏◆]/)] : []));
    expect(starts.length).toBeGreaterThan(8);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  it('draws a change from outside as a point in time, after the wait that it ended', async () => {
    const { command, world } = await scene();
    await world.skip({ hours: 3 });
    await world.run('trip-41').rewind(2);
    const text = stripVTControlCharacters((await command(['show', 'trip-41'], { columns: 80 })).out);
    expect(text).toMatch(/\n +5 {2}waiting for approval book +░┄+░ +8h( 1m)?\n +5 {2}rewind +◆\n/);
    expect(text).toMatch(/░ waited 8h/);
  });

  it('shows a request with its approvers, its deadline and the commands that decide it', async () => {
    const { command } = await scene();
    const text = stripVTControlCharacters((await command(['show', 'trip-41'], { columns: 80 })).out);
    expect(text).toContain('? Book HP 118 to Lisbon for $1200?');
    expect(text).toContain('requested 5h ago, expires in 3d; approvers: user:ann, group:finance');
    expect(text).toMatch(/price +1200/);
    expect(text).toContain('No red-eye.');
    expect(text).toContain('waitstate approve trip-41 book --as user:ann');
  });

  it('shows why a run failed or was cancelled', async () => {
    const { command } = await scene();
    const failed = (await command(['show', 'trip-43'])).out;
    expect(failed).toMatch(/error +Error: There is no flight to Nowhere\./);
    expect(failed).toMatch(/\n +location +test\/cli\/agents\.ts:\d+\n/);
    expect(failed).toContain('waitstate retry trip-43');
    const cancelled = (await command(['show', 'trip-44'])).out;
    expect(cancelled).toMatch(/reason +Run "trip-44" was cancelled: The customer called\./);
    expect(cancelled).not.toContain('waits for');
  });

  it('no longer shows an approval that was decided', async () => {
    const { command } = await scene();
    expect((await command(['show', 'trip-41'])).out).toMatch(/waits for +approval book/);
    await command(['approve', 'trip-41', '--as', 'user:ann']);
    const { out, err } = await command(['show', 'trip-41']);
    expect(out).toContain('READY');
    expect(out).not.toContain('waits for');
    expect(out).toMatch(/ready +since .*, but not running\. It is queued for a process of its agent/);
    expect(err).toContain('No server is running on this folder');
    expect((await command(['show', 'trip-41', '--json'])).json()[0]).toMatchObject({ ready: { reason: 'queued' } });
  });

  it('shows what people decided, in the list too', async () => {
    const { command, world } = await scene();
    await world.run('trip-41').reject('book', { by: 'user:ann', comment: 'Too far.' });
    expect((await command(['runs', '--id', 'trip-41'])).out).toMatch(/rejected by user:ann/);
    expect((await command(['show', 'trip-41'])).out).toMatch(/decision +rejected by user:ann/);
  });

  it('does not claim that the program of a non-durable run is still running', async () => {
    const folder = freshFolder();
    const store = createCheckpointStore(embeddedStorage({ folder }));
    await store.save({ run: 'plain', state: { n: 1 }, step: 'one' });
    const later = runIn(folder, { now: () => Date.now() + 3_600_000 });
    const { out } = await later(['show', 'plain']);
    expect(out).toContain('RUNNING');
    expect(out).not.toMatch(/worked 1h|running …/);
  });

  it('prints the run, its timeline and its pending approvals as JSON', async () => {
    const { command } = await scene();
    const [shown] = (await command(['show', 'trip-41', '--json'])).json<{
      readonly version: number;
      readonly timeline: { readonly spans: readonly unknown[]; readonly totals: Record<string, number> };
      readonly approvals: readonly { readonly id: string; readonly title: string }[];
    }>();
    expect(shown?.version).toBe(4);
    expect(shown?.timeline.totals.step).toBe(1400);
    expect(shown?.approvals).toMatchObject([{ id: 'book', title: 'Book HP 118 to Lisbon for $1200?' }]);
  });

  it('shows the last rows of a long timeline, and all of them with --all', async () => {
    const folder = freshFolder();
    const world = chatIn(folder);
    const run = await world.start({ prompt: 'Be kind.' }, { id: 'long' });
    for (let i = 0; i < 12; i++) await run.signal('message', `hello ${i}`);
    const command = runIn(folder);
    expect((await command(['show', 'long'])).out).toMatch(/… \d+ earlier checkpoints; use --all to see them/);
    const all = (await command(['show', 'long', '--all'])).out;
    expect(all).not.toContain('earlier');
    expect(all.match(/turn \d+\/answer/g)).toHaveLength(12);
  });
});

describe('waitstate history', () => {
  it('lists checkpoints, oldest first, including failed attempts', async () => {
    const { command } = await scene();
    const { out } = await command(['history', 'trip-42']);
    expect(out).toMatch(/^ *V +STEP/);
    expect(out).toMatch(/\n *1 +start +READY/);
    expect(out).toMatch(/book seat failed +RUNNING/);
    expect(out.indexOf('search flights')).toBeLessThan(out.indexOf('pay'));
  });

  it('uses the labels of the timeline, wherever the list starts', async () => {
    const { command } = await scene();
    const { out } = await command(['history', 'trip-42']);
    expect(out).toMatch(/\n *2 +queued +RUNNING/);
    expect(out).toMatch(/✗ lost to a crash/);
    expect(out).not.toContain('claim');
    const line = (text: string, version: number) =>
      text.split('\n').find((each) => each.startsWith(`${version} `.padStart(3)));
    for (const version of [2, 5]) {
      const [step = ''] = /^ *\d+ {2}.+? {2}/.exec(line(out, version) ?? '') ?? [];
      expect(step.trim()).not.toBe('');
      const from = await command(['history', 'trip-42', '--from', String(version), '-n', '1']);
      expect(from.out.split('\n')[1]?.replace(/ +/g, ' ').trim()).toContain(step.replace(/ +/g, ' ').trim());
    }
    expect((await command(['history', 'trip-42', '-n', '1', '--json'])).json()).toHaveLength(1);
  });

  it('finds the checkpoints with a text', async () => {
    const { command } = await scene();
    const { out, err } = await command(['history', 'trip-42', '--find', 'CRASH']);
    expect(out).toMatch(/\n *6 +✗ lost to a crash/);
    expect(out.trim().split('\n')).toHaveLength(2);
    expect(err).toMatch(/Searched checkpoints 1 to 11\./);
    expect((await command(['history', 'trip-42', '--find', 'book seat', '--json'])).json()).toHaveLength(2);
  });

  it('lists the last checkpoints, or those from a version', async () => {
    const { command } = await scene();
    const last = await command(['history', 'trip-42', '-n', '2', '--json']);
    const versions = last.json().map(({ version }) => Number(version));
    expect(versions).toHaveLength(2);
    expect(versions[1]).toBe((versions[0] ?? 0) + 1);
    const from = await command(['history', 'trip-42', '--from', '2', '--to', '3', '--json']);
    expect(from.json().map(({ version }) => version)).toEqual([2, 3]);
    expect((await command(['history', 'trip-42', '-n', '2'])).err).toMatch(
      /\d+ earlier checkpoints not shown\. Use --all/,
    );
    expect((await command(['history', 'trip-42', '--from', '1', '-n', '2'])).err).toContain(
      'There are more. Use --from 3.',
    );
  });
});

describe('waitstate state or diff', () => {
  async function chat() {
    const folder = freshFolder();
    const world = chatIn(folder);
    const run = await world.start({ prompt: 'Be kind.\nBe brief.' }, { id: 'chat-7' });
    await run.signal('message', 'hello');
    await run.signal('message', 'again');
    return runIn(folder);
  }

  it('prints a state as valid JSON, with and without a terminal', async () => {
    const command = await chat();
    const { out, code } = await command(['state', 'chat-7']);
    expect(code).toBe(0);
    const state = JSON.parse(out) as Chat;
    expect(state.messages).toHaveLength(4);
    expect(JSON.parse(stripVTControlCharacters((await command(['state', 'chat-7'], { columns: 40 })).out))).toEqual(
      state,
    );
  });

  it.each([
    ['messages[1].text', 'You said: hello'],
    ['/messages/0/role', 'user'],
    ['messages[2]', { role: 'user', text: 'again' }],
    ['["prompt"]', 'Be kind.\nBe brief.'],
  ])('prints the part of the state at %s', async (path, expected) => {
    const command = await chat();
    expect(JSON.parse((await command(['state', 'chat-7', '--path', path])).out)).toEqual(expected);
    expect((await command(['state', 'chat-7', '--path', path, '--json'])).json()).toEqual([expected]);
  });

  it('reports a path that is missing, an invalid path and an unknown version', async () => {
    const command = await chat();
    const missing = await command(['state', 'chat-7', '--path', 'messages[9]', '--json']);
    expect([missing.code, missing.error().code]).toEqual([3, 'PART_NOT_FOUND']);
    expect(missing.error().message).toContain('has nothing at messages[9]');
    expect((await command(['state', 'chat-7', '--path', 'a[b'])).code).toBe(2);
    expect((await command(['state', 'chat-7', '99', '--json'])).error().code).toBe('CHECKPOINT_NOT_FOUND');
  });

  it('compares two checkpoints, by default the last two', async () => {
    const command = await chat();
    const versions = (await command(['history', 'chat-7', '--json'])).json();
    const newest = Number(versions.at(-1)?.version);
    const { out } = await command(['diff', 'chat-7', '2']);
    expect(out).toContain(`version 2 → ${newest}`);
    expect(out).toMatch(/\+ messages\[0\]/);
    expect(out).toContain('You said: hello');
    const [last] = (await command(['diff', 'chat-7', '--json'])).json();
    expect(last).toMatchObject({ run: 'chat-7', before: newest - 1, after: newest });
  });

  it('shows the results that were recorded between two checkpoints', async () => {
    const { command } = await scene();
    const { out } = await command(['diff', 'trip-42', '4']);
    expect(out).toContain('No changes in the state.');
    expect(out).toContain('+ pay  { paid: 1200 }');
    expect(out).toContain('+ book seat  "seat 12A"');
    expect((await command(['diff', 'trip-41', '3', '3'])).out).toContain(
      'No changes in the state or in the recorded results.',
    );
    expect((await command(['diff', 'trip-41', '1', '--json'])).code).toBe(0);
  });

  it('prints recorded results, and suggests that for an agent without a state', async () => {
    const { command } = await scene();
    const results = JSON.parse((await command(['state', 'trip-42', '--results'])).out);
    expect(results.pay).toMatchObject({ value: { paid: 1200 } });
    expect((await command(['state', 'trip-42'])).err).toContain('Use --results to print its recorded results');
  });
});

describe('waitstate approvals', () => {
  it('lists the approvals of everyone, of one person or of one run', async () => {
    const { command } = await scene();
    const all = (await command(['approvals', '--json'])).json();
    expect(all.map(({ run }) => run)).toEqual(['trip-41']);
    expect((await command(['approvals', '--person', 'user:ann', '--json'])).json()).toHaveLength(1);
    expect((await command(['approvals', '--person', 'user:bob', '--json'])).json()).toHaveLength(0);
    const group = ['approvals', '--person', 'user:bob', '--group', 'group:finance', '--json'];
    expect((await command(group)).json()).toHaveLength(1);
    expect((await command(['approvals', 'trip-42'])).out).toMatch(/book +Book HP 118 to Porto .* APPROVED .* user:ann/);
  });

  it('rejects options that contradict each other', async () => {
    const { command } = await scene();
    expect((await command(['approvals', 'trip-41', '--person', 'user:ann'])).code).toBe(2);
    expect((await command(['approvals', '--group', 'group:finance'])).code).toBe(2);
  });
});

describe('the output on a terminal', () => {
  it.each([40, 80, 120])('fits %d columns, except for commands to copy', async (columns) => {
    const { command } = await scene();
    for (const args of [
      ['runs'],
      ['show', 'trip-41'],
      ['show', 'trip-42'],
      ['show', 'trip-43'],
      ['history', 'trip-42'],
      ['diff', 'trip-42', '2'],
      ['approvals'],
      ['approvals', 'trip-42'],
      ['runs', '--count'],
      ['verify', 'trip-42'],
      ['--help'],
    ]) {
      const { out, err } = await command(args, { columns });
      const lines = stripVTControlCharacters(out + err).split('\n');
      const wide = lines.filter((line) => stringWidth(line) > columns && !/^ +waitstate /.test(line));
      expect([args, wide]).toEqual([args, []]);
    }
  });

  it('never truncates a status', async () => {
    const { command } = await scene();
    for (const columns of [40, 50, 60, 70]) {
      const { out } = await command(['runs'], { columns });
      expect(stripVTControlCharacters(out)).toMatch(/trip-41 +WAITING_FOR_APPROVAL/);
    }
  });

  it('has colors on a terminal only', async () => {
    const { command } = await scene();
    const colored = (await command(['show', 'trip-42'], { columns: 80 })).out;
    expect(stripVTControlCharacters(colored)).not.toBe(colored);
    const plain = (await command(['show', 'trip-42'])).out;
    expect(stripVTControlCharacters(plain)).toBe(plain);
  });
});
