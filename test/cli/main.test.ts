import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { EXIT, EXIT_CODE_BY_ERROR } from '../../cli/exit-codes.ts';
import { createProgram } from '../../cli/program/program.ts';
import { processTerminal } from '../../cli/terminal/process-terminal.ts';
import { chatIn, travelIn } from './agents.ts';
import { MAIN, plainEnv, runOnTerminal, runProcess } from './process.ts';
import { freshFolder } from './scene.ts';

/** Runs a line of bash in which `waitstate` is the command. */
const bash = (line: string, env: NodeJS.ProcessEnv): Promise<{ code: number; out: string; err: string }> =>
  new Promise((resolve) => {
    const script = `waitstate() { ${process.execPath} ${MAIN} "$@"; }; export -f waitstate; set -o pipefail; ${line}`;
    const options = { env: { ...plainEnv(), ...env } };
    const child = execFile('bash', ['--norc', '-c', script], options, (_, out, err) => {
      resolve({ code: child.exitCode ?? -1, out, err });
    });
  });

describe('the command as a process', () => {
  it('works on a folder, with an exit code for each kind of error', async () => {
    const env = { WAITSTATE_FOLDER: freshFolder() };
    const missing = await runProcess(['runs'], { env });
    expect(missing.code).toBe(EXIT.notFound);
    expect(missing.err).toContain('contains no runs');
    const started = await runProcess(['start', 'travel', '-', '--id', 'trip-1', '--json'], {
      env,
      input: '{"to":"Rome"}',
    });
    expect([started.code, started.err]).toEqual([0, '']);
    expect(JSON.parse(started.out)).toEqual({ run: 'trip-1', status: 'READY', isNew: true });
    expect((await runProcess(['show', 'trip-2'], { env })).code).toBe(EXIT.notFound);
    expect((await runProcess(['retry', 'trip-1'], { env })).code).toBe(EXIT.conflict);
    expect((await runProcess(['rewind', 'trip-1', '1'], { env })).code).toBe(EXIT.usage);
    expect((await runProcess(['runs', '--limit', 'x'], { env })).code).toBe(EXIT.usage);
  });

  it('reports an error in a few lines, with a stack trace only if WAITSTATE_DEBUG is set', async () => {
    const env = { WAITSTATE_FOLDER: '/dev/null/x' };
    const { code, err } = await runProcess(['start', 'travel'], { env });
    expect(code).toBe(EXIT.denied);
    expect(err.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
    expect(err).not.toMatch(/\bat .*:\d+:\d+/);
    const debug = await runProcess(['start', 'travel'], { env: { ...env, WAITSTATE_DEBUG: '1' } });
    expect(debug.err).toMatch(/\bat .*:\d+:\d+/);
  });

  it('suggests the nearest command and option', async () => {
    const wrong = await runProcess(['aproove', 'x']);
    expect([wrong.code, wrong.err]).toEqual([EXIT.usage, expect.stringContaining('Did you mean approve?')]);
    expect((await runProcess(['runs', '--staus', 'x'])).err).toContain('Did you mean --status?');
    expect((await runProcess(['show'])).err).toContain('Run "waitstate show --help" to see the options.');
  });

  it('prints errors as JSON on standard error if --json is given', async () => {
    const { code, out, err } = await runProcess(['runs', '--json'], { env: { WAITSTATE_FOLDER: freshFolder() } });
    expect([code, out]).toEqual([3, '']);
    expect(JSON.parse(err)).toMatchObject({ error: { code: 'STORAGE_MISSING', exitCode: 3 } });
  });

  it('exits without an error if the reader closes the pipe', async () => {
    const folder = freshFolder();
    const world = chatIn(folder);
    const run = await world.start({ prompt: 'x'.repeat(50_000) }, { id: 'chat' });
    for (let i = 0; i < 5; i++) await run.signal('message', 'y'.repeat(50_000));
    for (const line of [
      'waitstate export chat | head -c 100',
      'waitstate state chat | head -1',
      'waitstate history chat --json | head -1',
    ]) {
      const { code, err } = await bash(line, { WAITSTATE_FOLDER: folder });
      expect([line, code, err]).toEqual([line, 0, '']);
    }
  });

  it('prints colors on a terminal, but not in a pipe or with NO_COLOR', async () => {
    const folder = freshFolder();
    await travelIn(folder).start({ to: 'Rome' }, { id: 'trip-1' });
    const onTerminal = async (env: NodeJS.ProcessEnv) =>
      (await runOnTerminal(['runs'], { env: { WAITSTATE_FOLDER: folder, ...env } })).shown;
    const isColored = (text: string) => stripVTControlCharacters(text) !== text;
    expect(isColored(await onTerminal({}))).toBe(true);
    expect(isColored(await onTerminal({ NO_COLOR: '1' }))).toBe(false);
    expect(isColored((await runProcess(['runs'], { env: { WAITSTATE_FOLDER: folder } })).out)).toBe(false);
  });

  it('exits with code 130 and does nothing if you press Ctrl-C at a prompt', async () => {
    const folder = freshFolder();
    await travelIn(folder).start({ to: 'Rome' }, { id: 'trip-1' });
    const env = { WAITSTATE_FOLDER: folder };
    const { code, shown } = await runOnTerminal(['rewind', 'trip-1', '2'], { env, typed: '\u0003' });
    expect(shown).toContain('Continue?');
    expect(code).toBe(EXIT.interrupted);
    expect(
      (await runProcess(['history', 'trip-1', '--json'], { env: { WAITSTATE_FOLDER: folder } })).out,
    ).not.toContain('rewind');
  });

  it('prints its help and its version on standard output', async () => {
    const help = await runProcess(['--help']);
    expect([help.code, help.err]).toEqual([0, '']);
    expect(help.out).toContain('Usage: waitstate <command>');
    expect((await runProcess(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
    const bare = await runProcess([]);
    expect(bare.out).toContain('Usage: waitstate <command>');
  });
});

describe('the command', () => {
  const program = createProgram(async () => {}, processTerminal());
  const commands = program.createHelp().visibleCommands(program);

  it('shows examples in the help of each command', () => {
    for (const command of commands) {
      let help = '';
      command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
      expect(help).toMatch(new RegExp(`Examples:\\n.*waitstate ${command.name()}`));
      expect(command.summary() || command.description()).not.toBe('');
    }
  });

  it('has all documented subcommands', () => {
    expect(commands.map((command) => command.name()).toSorted()).toEqual(
      'answer approvals approve cancel collect completion conformance console delegate delegations delete dev diff doctor evidence export fork history logs pause prune reject remind retry rewind runs show shred signal start state unpause verify watch withdraw'.split(
        ' ',
      ),
    );
  });

  it('has an exit code for each error, which is never 0', () => {
    expect(Object.values(EXIT_CODE_BY_ERROR).filter((code) => code === EXIT.ok)).toEqual([]);
    expect(new Set(Object.values(EXIT)).size).toBe(Object.keys(EXIT).length);
  });
});

describe('the startup of the command', () => {
  const HEAVY =
    /@aws-sdk|@smithy|\/hono|node-server|aws4fetch|\bzod\b|lambda\/(storage|runtime|operator|api|console)|cli\/(dev|commands|target)/;

  const SOURCE = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));

  /** The names of the modules that a command line loads, from the sources. */
  async function loadedModules(args: readonly string[]): Promise<readonly string[]> {
    const hook = `import { registerHooks } from 'node:module'; import { writeSync } from 'node:fs';
      registerHooks({ load(url, context, next) { writeSync(2, 'loaded ' + url + '\\n'); return next(url, context); } });
      const get = process.getBuiltinModule; process.getBuiltinModule = (name) => { writeSync(2, 'loaded ' + name + '\\n'); return get(name); };`;
    const NODE_OPTIONS = `--import data:text/javascript,${encodeURIComponent(hook)}`;
    const { err } = await runProcess(args, { env: { NODE_OPTIONS, WAITSTATE_FOLDER: freshFolder() }, program: SOURCE });
    return [...err.matchAll(/^loaded (.*)$/gm)].map(([, url = '']) => url.replace(/.*\/node_modules\//, ''));
  }

  it('loads no AWS SDK, no server and no SQLite for --help', async () => {
    const modules = await loadedModules(['--help']);
    expect(modules.some((url) => url.includes('commander'))).toBe(true);
    expect(modules.filter((url) => HEAVY.test(url))).toEqual([]);
    expect(modules.some((url) => url.includes('sqlite'))).toBe(false);
  });

  it('loads no AWS SDK and no server for runs in a folder', async () => {
    const modules = await loadedModules(['start', 'travel']);
    expect(modules).toContain('node:sqlite');
    expect(modules.filter((url) => /@aws-sdk|@smithy|\bhono\b|node-server|aws4fetch|zod/.test(url))).toEqual([]);
  });
});
