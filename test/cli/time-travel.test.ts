import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Chat, chatIn, travelIn } from './agents.ts';
import { runOnTerminal } from './process.ts';
import { freshFolder, runIn } from './scene.ts';

async function chat() {
  const folder = freshFolder();
  const world = chatIn(folder);
  const run = await world.start({ prompt: 'Be kind.' }, { id: 'chat-7' });
  await run.signal('message', 'hello');
  return { folder, world, command: runIn(folder) };
}

describe('waitstate fork', () => {
  it('starts a new run from a checkpoint', async () => {
    const { command } = await chat();
    const [forked] = (
      await command(['fork', 'chat-7', '--version', '2', '--id', 'other', '-t', 'x', '-y', '--json'])
    ).json();
    expect(forked).toMatchObject({ run: 'other', from: { run: 'chat-7', version: 2 } });
    expect((await command(['show', 'other', '--json'])).json()).toMatchObject([{ status: 'READY', tags: ['x'] }]);
    const taken = await command(['fork', 'chat-7', '--id', 'other', '--json']);
    expect([taken.code, taken.error().code]).toEqual([4, 'RUN_EXISTS']);
  });

  it('reads another state from a file or from standard input', async () => {
    const { command, folder } = await chat();
    const state = { prompt: 'Be brief.', messages: [] };
    writeFileSync(join(folder, 'state.json'), JSON.stringify(state));
    await command(['fork', 'chat-7', '--state', join(folder, 'state.json'), '--id', 'a']);
    await command(['fork', 'chat-7', '--state', '-', '--id', 'b'], {
      input: JSON.stringify({ ...state, prompt: 'No.' }),
    });
    expect(JSON.parse((await command(['state', 'a'])).out)).toEqual(state);
    expect(JSON.parse((await command(['state', 'b', '--path', 'prompt'])).out)).toBe('No.');
  });

  it('accepts the output of "waitstate state", so that other tools can edit a state', async () => {
    const { command } = await chat();
    const { out } = await command(['state', 'chat-7']);
    await command(['fork', 'chat-7', '--state', '-', '--id', 'same'], { input: out });
    expect((await command(['state', 'same'])).out).toBe(out);
  });

  it('replaces the result of an operation', async () => {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
    const command = runIn(folder);
    const price = '{"id":"HP 9","price":270}';
    const { code } = await command(['fork', 'trip-42', '--id', 'cheap', '--result', `search flights=${price}`]);
    expect(code).toBe(0);
    await world.skip({ hours: 2 });
    expect((await command(['approvals', 'cheap', '--json'])).json()).toMatchObject([
      { title: expect.stringContaining('$270') },
    ]);
    expect((await command(['fork', 'trip-42', '--result', 'nonsense'])).code).toBe(2);
    const unknown = await command(['fork', 'trip-42', '--result', 'search=1', '--yes']);
    expect([unknown.code, unknown.err.replaceAll(/\s+/g, ' ')]).toEqual([
      2,
      expect.stringMatching(/has no result "search" to replace\. It has: book, search flights\..*--results/),
    ]);
    expect((await command(['fork', 'trip-42', '--result', 'a={'])).err).toContain('The result of a is not JSON');
  });

  it('fails with --edit if there is no terminal', async () => {
    const { command } = await chat();
    const { code, err } = await command(['fork', 'chat-7', '--edit']);
    expect([code, err]).toEqual([2, expect.stringContaining('Pass --state FILE instead.')]);
  });
});

describe('waitstate fork --edit', () => {
  /** Runs the command on a pseudo-terminal, with a script as the editor. */
  async function edit(folder: string, editor: string, typed: string) {
    const script = join(folder, 'editor.mjs');
    writeFileSync(script, editor);
    const before = leftovers();
    const env = { WAITSTATE_FOLDER: folder, EDITOR: `${process.execPath} ${script}` };
    const ended = await runOnTerminal(['fork', 'chat-7', '--edit', '--id', 'edited'], { env, typed });
    // States may be secret: no file may be left behind.
    expect(leftovers()).toEqual(before);
    return ended;
  }

  const leftovers = () =>
    readdirSync(tmpdir()).filter(
      (name) => /^waitstate-[^-]+$/.test(name) && existsSync(join(tmpdir(), name, 'state.json')),
    );

  const READ = `import { readFileSync, writeFileSync, existsSync } from 'node:fs'; const file = process.argv[2]; const state = JSON.parse(readFileSync(file, 'utf8'));`;

  it('opens the state in the editor, and forks with the edited state', async () => {
    const { folder, command } = await chat();
    const editor = `${READ} state.prompt = 'Be brief.'; writeFileSync(file, JSON.stringify(state));`;
    const { code, shown } = await edit(folder, editor, '');
    expect(shown).toContain('Forked');
    expect(code).toBe(0);
    expect(JSON.parse((await command(['state', 'edited'])).out)).toMatchObject({
      prompt: 'Be brief.',
    } satisfies Partial<Chat>);
  });

  it('reports the position of a mistake, and offers to edit again', async () => {
    const { folder, command } = await chat();
    const editor = `import { readFileSync, writeFileSync } from 'node:fs'; const file = process.argv[2]; const text = readFileSync(file, 'utf8');
      writeFileSync(file, text.includes('oops') ? '{"prompt":"fixed","messages":[]}' : '{\\n  "prompt": oops\\n}');`;
    const { code, shown } = await edit(folder, editor, 'y\r');
    expect(shown).toMatch(/Your text is not JSON at line 2, column 13/);
    expect(shown).toContain('Edit again?');
    expect(code).toBe(0);
    expect(JSON.parse((await command(['state', 'edited', '--path', 'prompt'])).out)).toBe('fixed');
  });

  it('does not fork if the state is unchanged or the user gives up', async () => {
    const { folder, command } = await chat();
    const same = await edit(folder, '', '');
    expect([same.code, same.shown]).toEqual([1, expect.stringContaining('Nothing was changed')]);
    const wrong = await edit(folder, `${READ} writeFileSync(file, '{');`, 'n\r');
    expect(wrong.code).toBe(1);
    expect((await command(['show', 'edited'])).code).toBe(3);
  });
});

describe('waitstate rewind', () => {
  async function suspendedTrip() {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
    return runIn(folder);
  }

  it('lists the consequences, asks for confirmation, and resumes the run from there', async () => {
    const command = await suspendedTrip();
    const no = await command(['rewind', 'trip-42', '3'], { columns: 200, input: 'n' });
    expect(no.err.replace(/\n +/g, ' ')).toContain(
      'will resume from version 3 ("search flights"): 1 later checkpoint will no longer apply, 1 pending approval will be withdrawn.',
    );
    expect(no.code).toBe(1);
    const { out, code } = await command(['rewind', 'trip-42', '3'], { columns: 80, input: 'yes' });
    expect(code).toBe(0);
    expect(out).toContain('resumes from version 3, as version 5');
    expect((await command(['approvals', 'trip-42', '--json'])).json()).toMatchObject([{ status: 'WITHDRAWN' }]);
  });

  it('resumes with another state, from a file or an editor', async () => {
    const { command, folder } = await chat();
    const state = { prompt: 'Be brief.', messages: [] };
    const args = ['rewind', 'chat-7', '2', '--yes', '--state', '-', '--json'];
    expect((await command(args, { input: JSON.stringify(state) })).code).toBe(0);
    expect(JSON.parse((await command(['state', 'chat-7'])).out)).toEqual(state);
    expect((await command(['rewind', 'chat-7', '2', '--yes', '--edit'])).err).toContain('Pass --state FILE instead.');

    const script = join(folder, 'editor.mjs');
    const env = { WAITSTATE_FOLDER: folder, EDITOR: `${process.execPath} ${script}` };
    const write = (text: string) => writeFileSync(script, `import { writeFileSync } from 'node:fs'; ${text}`);
    write(`writeFileSync(process.argv[2], '{"prompt":"Edited.","messages":[]}');`);
    const edited = await runOnTerminal(['rewind', 'chat-7', '2', '--yes', '--edit'], { env, typed: '' });
    expect([edited.code, edited.shown]).toEqual([0, expect.stringContaining('resumes from version 2')]);
    expect(JSON.parse((await command(['state', 'chat-7', '--path', 'prompt'])).out)).toBe('Edited.');
    write('');
    const same = await runOnTerminal(['rewind', 'chat-7', '2', '--yes', '--edit'], { env, typed: '' });
    expect([same.code, same.shown.match(/Nothing was/g)?.length]).toEqual([1, 2]);
    expect(JSON.parse((await command(['state', 'chat-7', '--path', 'prompt'])).out)).toBe('Edited.');
  });

  it('fails without a terminal, unless --yes is given', async () => {
    const command = await suspendedTrip();
    expect((await command(['rewind', 'trip-42', '3'])).code).toBe(2);
    const [rewound] = (await command(['rewind', 'trip-42', '3', '--yes', '--new-keys', '--json'])).json();
    expect(rewound).toEqual({ run: 'trip-42', repeatedSteps: [], to: 3, version: 5, status: 'READY' });
    const missing = await command(['rewind', 'trip-42', 'before-payment', '--yes', '--json']);
    expect([missing.code, missing.error().code]).toEqual([3, 'CHECKPOINT_NOT_FOUND']);
  });
});

describe('before a rewind or fork that runs steps again', () => {
  async function paidTrip() {
    const folder = freshFolder();
    const world = travelIn(folder, { hoursAgo: 1 });
    const run = await world.start({ to: 'Lisbon' }, { id: 'trip-42' });
    await run.approve('book', { by: 'user:ann' });
    return runIn(folder);
  }

  it.each(['rewind', 'fork'])('lists the steps before a %s, and asks for confirmation', async (action) => {
    const command = await paidTrip();
    const args = action === 'rewind' ? ['rewind', 'trip-42', '3'] : ['fork', 'trip-42', '--version', '3'];
    const declined = await command(args, { input: 'n', columns: 100 });
    expect(declined.code).toBe(1);
    expect(stripVTControlCharacters(declined.err)).toMatch(
      /! 2 steps will run again:\n +pay \(step, is not undone first\)\n +book seat \(step\)/,
    );
    expect((await command(['runs', '--json'])).json()).toHaveLength(1);
    const refused = await command([...args, '--json']);
    expect([refused.code, refused.error().message]).toEqual([2, expect.stringContaining('"pay", "book seat"')]);
    const { code, json } = await command([...args, '--yes', '--json']);
    expect(code).toBe(0);
    expect(json()).toMatchObject([{ repeatedSteps: [{ id: 'pay', kind: 'step' }, { id: 'book seat' }] }]);
  });

  it('says what another state cannot change, and how to change that', async () => {
    const command = await paidTrip();
    const { err } = await command(['fork', 'trip-42', '--yes', '--state', '-'], { input: '{}' });
    expect(stripVTControlCharacters(err).replaceAll('\n', ' ')).toContain(
      "The agent has no state, so another state changes nothing. To change what the agent did before, replace a result: --result 'search flights=JSON'.",
    );
  });
});
