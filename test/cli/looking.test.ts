import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { type Chat, chatIn, travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';

/** A folder with runs in several states: one waits, one went far, one failed, one was cancelled. */
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
  it('lists runs with their status, step and age, last touched first', async () => {
    const { command } = await scene();
    const { code, out, err } = await command(['runs']);
    expect(code).toBe(0);
    expect(err).toBe('');
    const [head, first] = out.split('\n');
    expect(head?.split(/\s+/)).toEqual(['RUN', 'STATUS', 'AGENT', 'STEP', 'OWNER', 'TAGS', 'TOUCHED']);
    expect(first).toMatch(/^trip-44 +CANCELLED +travel +book .*now$/);
    expect(out).toMatch(/trip-41 +WAITING_FOR_APPROVAL +travel +book +user:ann +spring +5h ago/);
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
    [
      ['--id', '-4', '--agent', 'travel', '--limit', '2'],
      ['trip-44', 'trip-42'],
    ],
    [['--agent', 'other'], []],
  ])('finds by %j', async (filter, expected) => {
    const { command } = await scene();
    const { code, json } = await command(['runs', '--json', ...filter]);
    expect(code).toBe(0);
    expect(json().map(({ run }) => run)).toEqual(expected);
  });

  it('gives programs exact times and nothing else', async () => {
    const { command } = await scene();
    const { out, err, json } = await command(['runs', '--json', '-n', '1'], { columns: 40 });
    expect(err).toBe('');
    expect(stripVTControlCharacters(out)).toBe(out);
    const [run] = json();
    expect(run).toMatchObject({ run: 'trip-44', status: 'CANCELLED', agent: 'travel', tags: [] });
    expect(new Date(String(run?.touchedAt)).toISOString()).toBe(run?.touchedAt);
  });

  it('says when there is nothing, and when there is more', async () => {
    const { command } = await scene();
    expect((await command(['runs', '--agent', 'other'])).err).toBe('No runs fit.\n');
    expect((await command(['runs', '-n', '2'])).err).toContain('There are more: --limit 10, or --all.');
  });

  it('counts by status', async () => {
    const { command } = await scene();
    expect((await command(['runs', '--count'])).out).toMatch(/FAILED +1\n/);
    const [counts] = (await command(['runs', '--count', '--json'])).json();
    expect(counts).toMatchObject({ FAILED: { count: 1, isMore: false }, READY: { count: 0 } });
  });
});

describe('waitstate show', () => {
  it('draws where the time went: steps, waits, failures, crashes, and what goes on', async () => {
    const { command, world } = await scene();
    await world.skip({ hours: 10 });
    const { code, out } = await command(['show', 'trip-42'], { columns: 80 });
    expect(code).toBe(0);
    const text = stripVTControlCharacters(out);
    expect(text).toMatch(/^trip-42 {2}WAITING_FOR_SIGNAL\n/);
    expect(text).toMatch(/waits for {2}signal departed/);
    expect(text).toMatch(/ 3 {2}search flights +█+ +1\.4s/);
    expect(text).toMatch(/waiting for approval +░+ +5h/);
    expect(text).toMatch(/✗ crash +╳+ +2\.3s/);
    expect(text).toMatch(/! book seat failed +▓+ +800ms/);
    expect(text).toMatch(/waiting for signal … +░+ +10h/);
    expect(text).toMatch(/█ worked [\d.]+s {3}░ waited 15h .*▓ 1 failed attempt 800ms.*╳ 1 crash 2\.3s/);
    expect(text).toContain('Waits are drawn shorter.');
    expect(text).toContain(`waitstate signal trip-42 departed '…'`);
  });

  it('puts each bar where the one before ends', async () => {
    const { command } = await scene();
    const { out } = await command(['show', 'trip-42'], { columns: 100 });
    const places = stripVTControlCharacters(out)
      .split('\n')
      .flatMap((line) => (/^ {2}[ \d]{2} {2}/.test(line) ? [line.search(/[█░▓╳·▏◆]/)] : []));
    expect(places.length).toBeGreaterThan(8);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it('draws a change from outside as a moment, and what was before it as the wait that it was', async () => {
    const { command, world } = await scene();
    await world.skip({ hours: 3 });
    await world.run('trip-41').rewind(2);
    const text = stripVTControlCharacters((await command(['show', 'trip-41'], { columns: 80 })).out);
    expect(text).toMatch(/\n +waiting for approval +░+ +8h( 1m)?\n +5 {2}rewind +◆\n/);
    expect(text).toMatch(/░ waited 8h/);
  });

  it('says what is asked, of whom, until when, and how to answer', async () => {
    const { command } = await scene();
    const text = stripVTControlCharacters((await command(['show', 'trip-41'], { columns: 80 })).out);
    expect(text).toContain('? Book HP 118 to Lisbon for $1200?');
    expect(text).toContain('asked 5h ago, until in 3d; by user:ann, group:finance');
    expect(text).toMatch(/price +1200/);
    expect(text).toContain('No red-eye.');
    expect(text).toContain('waitstate approve trip-41 book --as user:ann');
  });

  it('says why a run failed, and why one was cancelled', async () => {
    const { command } = await scene();
    const failed = (await command(['show', 'trip-43'])).out;
    expect(failed).toMatch(/error +Error: There is no flight to Nowhere\./);
    expect(failed).toMatch(/\n +in +test\/cli\/agents\.ts:\d+\n/);
    expect(failed).toContain('waitstate retry trip-43');
    const cancelled = (await command(['show', 'trip-44'])).out;
    expect(cancelled).toMatch(/because +Run "trip-44" was cancelled: The customer called\./);
    expect(cancelled).not.toContain('waits for');
  });

  it('does not wait any more for what was answered', async () => {
    const { command } = await scene();
    expect((await command(['show', 'trip-41'])).out).toMatch(/waits for +approval book/);
    await command(['approve', 'trip-41', '--as', 'user:ann']);
    const { out } = await command(['show', 'trip-41']);
    expect(out).toContain('READY');
    expect(out).not.toContain('waits for');
  });

  it('does not say that a run works of which nobody knows', async () => {
    const folder = freshFolder();
    const store = createCheckpointStore(embeddedStorage({ folder }));
    await store.save({ run: 'plain', state: { n: 1 }, step: 'one' });
    const later = runIn(folder, { now: () => Date.now() + 3_600_000 });
    const { out } = await later(['show', 'plain']);
    expect(out).toContain('RUNNING');
    expect(out).not.toMatch(/worked 1h|running …/);
  });

  it('gives programs the run, its timeline and its open approvals', async () => {
    const { command } = await scene();
    const [shown] = (await command(['show', 'trip-41', '--json'])).json<{
      readonly version: number;
      readonly timeline: { readonly stretches: readonly unknown[]; readonly totals: Record<string, number> };
      readonly approvals: readonly { readonly id: string; readonly title: string }[];
    }>();
    expect(shown?.version).toBe(4);
    expect(shown?.timeline.totals.step).toBe(1400);
    expect(shown?.approvals).toMatchObject([{ id: 'book', title: 'Book HP 118 to Lisbon for $1200?' }]);
  });

  it('shows the last of a long run, all of it when asked', async () => {
    const folder = freshFolder();
    const world = chatIn(folder);
    const run = await world.start({ prompt: 'Be kind.' }, { id: 'long' });
    for (let i = 0; i < 12; i++) await run.signal('message', `hello ${i}`);
    const command = runIn(folder);
    expect((await command(['show', 'long'])).out).toMatch(/… \d+ earlier stretches; --all shows them/);
    const all = (await command(['show', 'long', '--all'])).out;
    expect(all).not.toContain('earlier');
    expect(all.match(/turn \d+\/answer/g)).toHaveLength(12);
  });
});

describe('waitstate history', () => {
  it('lists checkpoints, oldest first, with what failed', async () => {
    const { command } = await scene();
    const { out } = await command(['history', 'trip-42']);
    expect(out).toMatch(/^ *V +STEP/);
    expect(out).toMatch(/\n *1 +start +READY/);
    expect(out).toMatch(/book seat failed +RUNNING/);
    expect(out.indexOf('search flights')).toBeLessThan(out.indexOf('pay'));
  });

  it('has the words of the timeline, wherever the list begins', async () => {
    const { command } = await scene();
    const { out } = await command(['history', 'trip-42']);
    expect(out).toMatch(/\n *2 +ready +RUNNING/);
    expect(out).toMatch(/✗ crash/);
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

  it('gives the last so many, or those from a version', async () => {
    const { command } = await scene();
    const last = await command(['history', 'trip-42', '-n', '2', '--json']);
    const versions = last.json().map(({ version }) => Number(version));
    expect(versions).toHaveLength(2);
    expect(versions[1]).toBe((versions[0] ?? 0) + 1);
    const from = await command(['history', 'trip-42', '--from', '2', '--to', '3', '--json']);
    expect(from.json().map(({ version }) => version)).toEqual([2, 3]);
    expect((await command(['history', 'trip-42', '-n', '2'])).err).toMatch(/\d+ earlier checkpoints: --all/);
    expect((await command(['history', 'trip-42', '--from', '1', '-n', '2'])).err).toContain(
      'There are more: --from 3.',
    );
  });
});

describe('waitstate state and diff', () => {
  async function chat() {
    const folder = freshFolder();
    const world = chatIn(folder);
    const run = await world.start({ prompt: 'Be kind.\nBe brief.' }, { id: 'chat-7' });
    await run.signal('message', 'hello');
    await run.signal('message', 'again');
    return runIn(folder);
  }

  it('prints a state as JSON that can be kept and read again', async () => {
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
  ])('prints a part of it: %s', async (path, expected) => {
    const command = await chat();
    expect(JSON.parse((await command(['state', 'chat-7', '--path', path])).out)).toEqual(expected);
    expect((await command(['state', 'chat-7', '--path', path, '--json'])).json()).toEqual([expected]);
  });

  it('says where there is nothing, and what is no path', async () => {
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

  it('shows what was recorded between two checkpoints of an agent without a state', async () => {
    const { command } = await scene();
    const { out } = await command(['diff', 'trip-42', '4']);
    expect(out).toContain('The states are the same.');
    expect(out).toContain('+ pay  { paid: 1200 }');
    expect(out).toContain('+ book seat  "seat 12A"');
    expect((await command(['diff', 'trip-41', '3', '3'])).out).toContain('Nothing changed');
    expect((await command(['diff', 'trip-41', '1', '--json'])).code).toBe(0);
  });

  it('prints what is recorded, and says so of an agent without a state', async () => {
    const { command } = await scene();
    const results = JSON.parse((await command(['state', 'trip-42', '--results'])).out);
    expect(results.pay).toMatchObject({ value: { paid: 1200 } });
    expect((await command(['state', 'trip-42'])).err).toContain('--results prints what is recorded');
  });
});

describe('waitstate approvals', () => {
  it('lists what everybody, one person, or one run is asked', async () => {
    const { command } = await scene();
    const all = (await command(['approvals', '--json'])).json();
    expect(all.map(({ run }) => run)).toEqual(['trip-41']);
    expect((await command(['approvals', '--person', 'user:ann', '--json'])).json()).toHaveLength(1);
    expect((await command(['approvals', '--person', 'user:bob', '--json'])).json()).toHaveLength(0);
    const group = ['approvals', '--person', 'user:bob', '--group', 'group:finance', '--json'];
    expect((await command(group)).json()).toHaveLength(1);
    expect((await command(['approvals', 'trip-42'])).out).toMatch(/book +Book HP 118 to Porto .* APPROVED .* user:ann/);
  });

  it('refuses what cannot be meant', async () => {
    const { command } = await scene();
    expect((await command(['approvals', 'trip-41', '--person', 'user:ann'])).code).toBe(2);
    expect((await command(['approvals', '--group', 'group:finance'])).code).toBe(2);
  });
});

describe('every screen', () => {
  it.each([40, 80, 120])('fits a terminal of %d columns, but for what is to be copied', async (columns) => {
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

  it('shows a status as a whole or not at all', async () => {
    const { command } = await scene();
    for (const columns of [40, 50, 60, 70]) {
      const { out } = await command(['runs'], { columns });
      expect(stripVTControlCharacters(out)).toMatch(/trip-41 +WAITING_FOR_APPROVAL/);
    }
  });

  it('has no colours where NO_COLOR is set or where there is no terminal, and some where there is', async () => {
    const { command } = await scene();
    const coloured = (await command(['show', 'trip-42'], { columns: 80 })).out;
    expect(stripVTControlCharacters(coloured)).not.toBe(coloured);
    const plain = (await command(['show', 'trip-42'])).out;
    expect(stripVTControlCharacters(plain)).toBe(plain);
  });
});
