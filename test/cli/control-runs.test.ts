import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { writeServerFile } from '../../cli/dev/server/server-file.ts';
import { chatIn, travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';
import { servedFolder } from './served-folder.ts';

describe('waitstate start', () => {
  it('starts a run in a new folder, and warns that no server is running', async () => {
    const folder = join(freshFolder(), 'new');
    const command = runIn(folder);
    const args = ['start', 'travel', '{"to":"Lisbon"}', '--id', 'trip-1', '-o', 'user:ann', '-t', 'a', '-t', 'b'];
    const { code, out, err } = await command(args);
    expect([code, out]).toEqual([0, '✓ Started trip-1\n']);
    expect(err).toContain(`"waitstate dev --folder ${folder} AGENT-FILES" to run it.`);
    const [shown] = (await command(['show', 'trip-1', '--json'])).json();
    expect(shown).toMatchObject({ status: 'READY', agent: 'travel', owner: 'user:ann', tags: ['a', 'b'] });
    expect(shown).toMatchObject({ input: { to: 'Lisbon' } });
  });

  it('records who requests the run', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    await command(['start', 'travel', '--id', 'one', '--as', 'user:ann']);
    await command(['start', 'travel', '--id', 'two'], { env: { WAITSTATE_PERSON: 'user:bob' } });
    expect((await command(['show', 'one'])).out).toMatch(/requester\s+user:ann/);
    expect((await command(['show', 'two', '--json'])).json()).toMatchObject([{ requestedBy: 'user:bob' }]);
    const wrong = await command(['start', 'travel', '--as', 'ann']);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--as must be "user:" followed by a name')]);
    await command(['start', 'travel', '--id', 'three']);
    await command(['fork', 'three', '--id', 'four', '--as', 'user:cho']);
    await command(['fork', 'one', '--id', 'five', '--as', 'user:cho']);
    expect((await command(['show', 'four', '--json'])).json()).toMatchObject([{ requestedBy: 'user:cho' }]);
    expect((await command(['show', 'five', '--json'])).json()).toMatchObject([{ requestedBy: 'user:ann' }]);
  });

  it('does not warn if a server is running', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    await command(['start', 'travel', '--id', 'first']);
    using _ = await servedFolder(folder);
    await writeServerFile(folder, { key: 'k'.repeat(43), port: 1, url: 'http://127.0.0.1:1', pid: process.pid });
    expect((await command(['start', 'travel', '--id', 'second'])).err).not.toContain('server');
    await writeServerFile(folder, { key: 'k'.repeat(43), port: 1 });
    expect((await command(['start', 'travel', '--id', 'third'])).err).toContain('No server is running');
  });

  it('warns if the server does not have the agent, and names the next command', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    await command(['start', 'travel', '--id', 'first']);
    const server = createServer((request, response) => {
      const isAuthorized =
        request.url === '/api/agents' && request.headers.authorization === `Bearer ${'k'.repeat(43)}`;
      response.end(JSON.stringify(isAuthorized ? { agents: [{ name: 'travel' }] } : {}));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    using _ = await servedFolder(folder);
    const { port } = server.address() as AddressInfo;
    await writeServerFile(folder, { key: 'k'.repeat(43), port, url: `http://127.0.0.1:${port}`, pid: process.pid });
    const wrong = await command(['start', 'nosuch', '{}', '--id', 'lost']);
    expect([wrong.code, wrong.out]).toEqual([0, '✓ Started lost\n']);
    expect(wrong.err).toContain('! The server on this folder has no agent "nosuch" (it has travel)');
    const right = await command(['start', 'travel', '--id', 'second']);
    expect(right.err).toBe('Run "waitstate show second" to see its progress.\n');
    expect((await command(['start', 'nosuch', '--json'])).err).toBe('');
  });

  it('reads its input from a file or from standard input', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    writeFileSync(join(folder, 'in.json'), '[1, 2]');
    await command(['start', 'sum', '--input', join(folder, 'in.json'), '--id', 'file']);
    await command(['start', 'sum', '-', '--id', 'piped'], { input: '{"a": 1}' });
    expect((await command(['show', 'file', '--json'])).json()).toMatchObject([{ input: [1, 2] }]);
    expect((await command(['show', 'piped', '--json'])).json()).toMatchObject([{ input: { a: 1 } }]);
  });

  it('starts only one run for the same id or key', async () => {
    const command = runIn(freshFolder());
    const [first] = (await command(['start', 'travel', '--key', 'mail-7', '--json'])).json();
    const [second] = (await command(['start', 'travel', '--key', 'mail-7', '--json'])).json();
    expect([first?.isNew, second?.isNew, second?.run]).toEqual([true, false, first?.run]);
    const again = await command(['start', 'travel', '--key', 'mail-7']);
    expect(again.out).toContain('This run already exists');
    const other = await command(['start', 'other', '--id', String(first?.run), '--json']);
    expect([other.code, other.error().code]).toEqual([4, 'RUN_EXISTS']);
  });

  it.each([
    ['{"a":1,}', 'line 1, column 7: trailing comma before }'],
    ['hello', `A string needs double quotes: '"hello"'`],
    ['', 'The input is empty; JSON is expected.'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: expected a comma or }'],
    ['{"a":1,"a":2}', 'duplicate field "a"'],
  ])('reports the position of the mistake in the input %j', async (input, problem) => {
    const { code, err } = await runIn(freshFolder())(['start', 'travel', input]);
    expect(code).toBe(2);
    expect(err.replace(/\n */g, ' ')).toContain(problem);
  });

  it('shows an excerpt of a long line around a mistake', async () => {
    const long = `{"list": [${'1, '.repeat(50)} oops]}`;
    const { err } = await runIn(freshFolder())(['start', 'travel', long]);
    const [line = '', mark = ''] = err.split('\n').slice(-4);
    expect(line[mark.indexOf('^')]).toBe('o');
  });

  it('rejects input that it cannot read', async () => {
    const command = runIn(freshFolder());
    expect((await command(['start', 'x', '--input', '/no/such/file'])).err).toContain('cannot be read');
    expect((await command(['start', 'x', '1', '--input', 'f'])).err).toContain('not both');
    expect((await command(['start', 'x', '--timeout', 'soon'])).err).toContain('duration such as 90s');
    expect((await command(['start', ''])).code).toBe(2);
  });
});

describe('waitstate signal', () => {
  it('wakes a run, and sends a signal with the same id only once', async () => {
    const folder = freshFolder();
    const world = chatIn(folder);
    const chat = await world.start({ prompt: 'Be kind.' }, { id: 'chat-7' });
    const command = runIn(folder);
    const args = ['signal', 'chat-7', 'message', '"bye"', '--id', 's1', '--json'];
    expect((await command(args)).json()).toEqual([{ run: 'chat-7', name: 'message', isNew: true }]);
    expect((await command(args)).json()).toEqual([{ run: 'chat-7', name: 'message', isNew: false }]);
    await world.skip({ hours: 2 });
    expect(await chat.result()).toEqual({ turns: 0 });
    const late = await command(['signal', 'chat-7', 'message', '"hello"', '--json']);
    expect([late.code, late.error().code]).toEqual([4, 'RUN_ENDED']);
  });
});

describe('waitstate cancel', () => {
  async function paid() {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    const trip = await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
    await world.start({ to: 'Porto' }, { id: 'trip-43' });
    await trip.approve('book', { by: 'user:ann' });
    return { world, trip, command: runIn(folder) };
  }

  it('asks for confirmation if there are steps to undo, and does nothing if you decline', async () => {
    const { command, trip } = await paid();
    const { code, err } = await command(['cancel', 'trip-42'], { columns: 80, input: 'n' });
    expect(code).toBe(1);
    expect(err).toContain('Cancelling run "trip-42" will undo 1 step: pay.');
    expect(err).toContain('Nothing was done.');
    expect(await trip.status()).toBe('WAITING_FOR_SIGNAL');
  });

  it('cancels the run if you confirm', async () => {
    const { command, trip, world } = await paid();
    const { code, out } = await command(['cancel', 'trip-42', '--reason', 'Rain.'], { columns: 80, input: 'y' });
    expect(code).toBe(0);
    expect(out).toContain('while its steps are undone');
    await world.skip({ hours: 2 });
    expect(await trip.status()).toBe('CANCELLED');
    expect((await command(['show', 'trip-42'])).out).toContain('was cancelled: Rain.');
  });

  it('fails without a terminal, unless --yes is given', async () => {
    const { command } = await paid();
    const refused = await command(['cancel', 'trip-42']);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('Pass --yes to confirm.');
    expect((await command(['cancel', 'trip-42', '--yes', '--json'])).json()).toEqual([
      { run: 'trip-42', status: 'ENDING' },
    ]);
  });

  it('fails for a run that has ended, and reports a run that is already cancelled', async () => {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    await world.start({ to: 'Nowhere' }, { id: 'trip-44' });
    await world.start({ to: 'Rome' }, { id: 'trip-45' });
    const command = runIn(folder);
    const late = await command(['cancel', 'trip-44', '--json']);
    expect([late.code, late.error().code, late.out]).toEqual([4, 'RUN_ENDED', '']);
    expect(late.error().message).toContain('has already ended (FAILED)');
    await command(['cancel', 'trip-45']);
    const again = await command(['cancel', 'trip-45']);
    expect([again.code, again.out]).toEqual([0, '= trip-45 was already cancelled: CANCELLED\n']);
  });

  it('does not ask for confirmation if there is nothing to undo', async () => {
    const { command } = await paid();
    expect((await command(['cancel', 'trip-43', '--json'])).json()).toEqual([{ run: 'trip-43', status: 'CANCELLED' }]);
  });
});

describe('waitstate retry', () => {
  it('resumes a failed run, and fails for other runs', async () => {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    await world.start({ to: 'Nowhere' }, { id: 'trip-43' });
    const command = runIn(folder);
    expect((await command(['retry', 'trip-43'])).out).toContain('trip-43 resumes: READY');
    const again = await command(['retry', 'trip-43', '--json']);
    expect([again.code, again.error().code]).toEqual([4, 'TRANSITION_REFUSED']);
  });
});

describe('waitstate pause', () => {
  it('pauses an agent until unpause, and says if nothing changed', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    await command(['start', 'travel', '--id', 'first']);
    expect((await command(['pause', 'travel', '--json'])).json()).toEqual([
      { agent: 'travel', paused: true, isNew: true },
    ]);
    expect((await command(['pause', 'travel'])).out).toBe('= travel is already paused\n');
    expect((await command(['unpause', 'travel'])).out).toBe('✓ Unpaused travel\n');
    expect((await command(['unpause', 'travel', '--json'])).json()).toEqual([
      { agent: 'travel', paused: false, isNew: false },
    ]);
  });
});

describe('an unknown command', () => {
  it('suggests the one that the user may have meant', async () => {
    const { code, err } = await runIn(freshFolder())(['unpuase', 'travel']);
    expect([code, err]).toEqual([2, expect.stringContaining('Did you mean unpause?')]);
  });
});
