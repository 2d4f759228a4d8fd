import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { travelIn } from './agents.ts';
import { MAIN, plainEnv } from './process.ts';
import { freshFolder, run, runIn } from './scene.ts';

const words = (out: string): readonly string[] =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t')[0] ?? '');

describe('waitstate complete', () => {
  const complete = async (...typed: string[]) => words((await run(['complete', '--', ...typed])).out);

  it('completes commands, options and fixed values', async () => {
    expect(await complete('ap')).toEqual(['approvals', 'approve']);
    expect(await complete('')).toContain('export');
    expect(await complete('')).not.toContain('complete');
    expect(await complete('--v')).toEqual(['--version']);
    expect(await complete('runs', '--st')).toEqual(['--status', '--step', '--stack']);
    expect(await complete('export', '--format', '')).toEqual(['checkpoints', 'trajectory']);
    expect(await complete('runs', '--status', 'WAITING_FOR_A')).toEqual(['WAITING_FOR_APPROVAL']);
    expect(await complete('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(await complete('nonsense', '')).toEqual([]);
  });

  it('completes the runs of a folder for a run argument', async () => {
    const folder = freshFolder();
    const world = travelIn(folder);
    await world.start({ to: 'Rome' }, { id: 'trip-1' });
    await world.start({ to: 'Rome' }, { id: 'visit-1' });
    await world.start({ to: 'Rome' }, { id: 'evil\u001b[2J\tx' });
    const inFolder = runIn(folder);
    const of = async (...typed: string[]) => (await inFolder(['complete', '--', ...typed])).out;
    expect(await of('show', 't')).toBe('trip-1\tWAITING_FOR_APPROVAL travel\n');
    expect(words(await of('show', ''))).toEqual(['visit-1', 'trip-1']);
    expect(await of('show', 'trip-1', '')).toBe('');
    expect(words(await of('approve', '--as', 'user:ann', 'v'))).toEqual(['visit-1']);
    expect(await of('approve', '--as', 'v')).toBe('');
    expect(await of('show', '--stack', 'x', '')).toBe('');
    expect(words((await run(['complete', '--', 'show', '--folder', folder, 'v'])).out)).toEqual(['visit-1']);
  });

  it('offers only runs that the command applies to', async () => {
    const folder = freshFolder();
    const world = travelIn(folder);
    await world.start({ to: 'Rome' }, { id: 'asks' });
    await world.start({ to: 'Nowhere' }, { id: 'failed' });
    const command = runIn(folder);
    const of = async (...typed: string[]) => words((await command(['complete', '--', ...typed, ''])).out);
    expect(await of('show')).toEqual(['failed', 'asks']);
    for (const name of ['approve', 'reject', 'remind', 'withdraw', 'cancel', 'signal'])
      expect([name, await of(name)]).toEqual([name, ['asks']]);
    expect(await of('retry')).toEqual(['failed']);
  });

  it('escapes the agent name in the description of a run', async () => {
    const folder = freshFolder();
    const command = runIn(folder);
    await command(['start', 'travel\nextra\tword', '--id', 'trip-1']);
    const { out } = await command(['complete', '--', 'show', '']);
    expect(out).toBe('trip-1\tREADY travel\\nextra\\tword\n');
  });

  it('prints nothing if there is no folder', async () => {
    const { code, out, err } = await run(['complete', '--', 'show', '--folder', '/no/such', '']);
    expect([code, out, err]).toEqual([0, '', '']);
  });
});

describe('waitstate completion', () => {
  /** The completions of bash for a line. */
  function inBash(folder: string, ...typed: readonly string[]): readonly string[] {
    const bin = join(folder, 'bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, 'waitstate'), `#!/bin/sh\nexec ${process.execPath} ${MAIN} "$@"\n`);
    chmodSync(join(bin, 'waitstate'), 0o755);
    const list = ['waitstate', ...typed].map((word) => `'${word}'`).join(' ');
    const script = `source <(waitstate completion bash); COMP_WORDS=(${list}); COMP_CWORD=${typed.length}; _waitstate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const env = {
      ...plainEnv(),
      PATH: `${bin}${delimiter}${process.env.PATH}`,
      WAITSTATE_FOLDER: join(folder, 'runs'),
    };
    return words(execFileSync('bash', ['--norc', '-c', script], { env, input: '' }).toString());
  }

  it('works in bash with the printed script', async () => {
    const folder = freshFolder();
    await travelIn(join(folder, 'runs')).start({ to: 'Rome' }, { id: 'trip-1' });
    expect(inBash(folder, 'ap')).toEqual(['approvals', 'approve']);
    expect(inBash(folder, 'show', '')).toEqual(['trip-1']);
    expect(inBash(folder, 'runs', '--sta')).toEqual(['--status', '--stack']);
  });

  it('never executes a run id as code', async () => {
    const folder = freshFolder();
    const trap = join(folder, 'trap');
    const id = `$(touch ${trap})`;
    await travelIn(join(folder, 'runs')).start({ to: 'Rome' }, { id });
    const [word = ''] = inBash(folder, 'show', '');
    expect(existsSync(trap)).toBe(false);
    expect(execFileSync('bash', ['--norc', '-c', `printf %s ${word}`]).toString()).toBe(id);
    expect(existsSync(trap)).toBe(false);
  });

  it.each(['bash', 'zsh', 'fish'])('prints a script for %s', async (shell) => {
    const { code, out } = await run(['completion', shell]);
    expect(code).toBe(0);
    expect(out).toContain('waitstate complete -- ');
  });

  it('rejects other shells', async () => {
    const { code, err } = await run(['completion', 'tcsh']);
    expect([code, err]).toEqual([2, expect.stringContaining('Allowed choices are bash, zsh, fish')]);
  });
});
