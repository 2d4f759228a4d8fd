import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { agent } from '../../lambda/index.ts';
import { embeddedStorage } from '../../lambda/storage/embedded/embedded-storage.ts';
import { testAgents } from '../../lambda/testing.ts';
import { freshFolder, runIn } from './scene.ts';

/** A run that emits events and waits for a signal. */
async function scene() {
  const folder = freshFolder();
  const writer = agent({
    name: 'writer',
    async run(ctx, input: { fails?: boolean }) {
      ctx.emit({ phase: 'thinking' });
      await ctx.step('think', () => 1);
      await ctx.waitForSignal('go');
      if (input.fails) throw new Error('No ideas.');
      return { text: 'done' };
    },
  });
  const world = testAgents(writer, { storage: embeddedStorage({ folder }) });
  return { command: runIn(folder), start: (id: string, input = {}) => world.start(input, { id }) };
}

describe('waitstate logs', () => {
  it('prints checkpoints, events and the status in order', async () => {
    const { command, start } = await scene();
    await start('a');
    const { code, out } = await command(['logs', 'a']);
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(20).trim());
    expect(lines).toEqual([
      '1 start',
      '2 claimed',
      '• {"phase":"thinking"}',
      '3 think',
      expect.stringContaining('4 '),
      'WAITING_FOR_SIGNAL',
    ]);
    const events = (await command(['logs', 'a', '--json'])).json();
    expect(events.map(({ type, id, status }) => id ?? `${type} ${status}`)).toEqual([
      '1',
      '2',
      '2.1',
      '3',
      '4',
      'status WAITING_FOR_SIGNAL',
    ]);
    const after = (await command(['logs', 'a', '--after', '2.1', '--json'])).json();
    expect(after.map(({ id }) => id)).toEqual(['3', '4', undefined]);
    const wrong = await command(['logs', 'a', '--after', 'x']);
    expect([wrong.code, (await command(['logs', 'none'])).code]).toEqual([2, 3]);
  });

  it('follows a run until it ends, and repeats nothing', async () => {
    const { command, start } = await scene();
    const run = await start('a');
    const following = command(['logs', 'a', '--follow', '--json']);
    await run.signal('go', null);
    const { code, json } = await following;
    const ids = json().flatMap(({ id }) => id ?? []);
    expect([code, json().at(-1)]).toEqual([0, { type: 'status', status: 'SUCCEEDED' }]);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids.filter((id) => !String(id).includes('.'))).toEqual(
      Array.from({ length: ids.length - 1 }, (_, i) => String(i + 1)),
    );
  });
});

describe('the status of a run', () => {
  it('comes after all stored events, however many pages they take', async () => {
    const folder = freshFolder();
    const long = agent({
      name: 'long',
      async run(ctx) {
        for (let i = 0; i < 120; i++) await ctx.step(`step ${i}`, () => i);
      },
    });
    await testAgents(long, { storage: embeddedStorage({ folder }) }).start(null, { id: 'long' });
    for (const options of [[], ['--follow']]) {
      const events = (await runIn(folder)(['logs', 'long', '--json', ...options])).json();
      expect(events.filter(({ type }) => type === 'checkpoint').length).toBeGreaterThan(120);
      expect(events.flatMap(({ type }, i) => (type === 'status' ? i : []))).toEqual([events.length - 1]);
    }
  });
});

describe('waitstate watch', () => {
  it('draws the run again until it ends, and its exit code says whether it succeeded', async () => {
    const { command, start } = await scene();
    const [good, bad] = [await start('good'), await start('bad', { fails: true })];
    const watching = [command(['watch', 'good'], { columns: 90 }), command(['watch', 'bad'])];
    await good.signal('go', null);
    await bad.signal('go', null);
    const [watched, failed] = await Promise.all(watching);
    expect([watched?.code, failed?.code]).toEqual([0, 1]);
    expect(stripVTControlCharacters(watched?.out ?? '')).toMatch(/good {2}SUCCEEDED/);
    expect(failed?.out.trimEnd().split('\n').at(-1)).toMatch(/FAILED$/);
  });
});

describe('waitstate start --wait', () => {
  it('prints the result of a run when it has ended, or its error', async () => {
    const { command, start } = await scene();
    const [good, bad] = [await start('good'), await start('bad', { fails: true })];
    const waiting = ['good', 'bad'].map((id) =>
      command(['start', 'writer', '--id', id, '--wait', ...(id === 'bad' ? ['--json'] : [])]),
    );
    await good.signal('go', null);
    await bad.signal('go', null);
    const [done, failed] = await Promise.all(waiting);
    expect([done?.code, JSON.parse(done?.out ?? '')]).toEqual([0, { text: 'done' }]);
    expect(done?.err).toContain('Waiting for good');
    expect([failed?.code, failed?.json()]).toEqual([
      1,
      [
        expect.objectContaining({
          run: 'bad',
          status: 'FAILED',
          isNew: false,
          error: expect.objectContaining({ message: 'No ideas.' }),
        }),
      ],
    ]);
  });

  it('ends when the run is cancelled', async () => {
    const { command } = await scene();
    const waiting = command(['start', 'writer', '--id', 'new', '--wait']);
    await expect.poll(async () => (await command(['cancel', 'new', '--reason', 'Not now.'])).code).toBe(0);
    expect(await waiting).toMatchObject({ code: 1, out: expect.stringContaining('Not now.') });
  });
});
