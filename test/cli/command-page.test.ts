import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../cli/exit-codes.ts';
import { createProgram } from '../../cli/program/program.ts';
import { processTerminal } from '../../cli/terminal/process-terminal.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { travelIn } from './agents.ts';
import { freshFolder, runIn } from './scene.ts';

const page = readFileSync(new URL('../../docs/reference/command-line.md', import.meta.url), 'utf8');
const rows = page.split('\n').filter((line) => line.startsWith('| '));

/** The fields of a line that the page documents, without nested fields. */
function documentedFields(command: string): readonly string[] {
  const [, programs = ''] = page.split('## JSON output');
  const row = programs.split('\n').find((line) => line.startsWith(`| ${command} |`)) ?? '';
  const shape = /\{ (.*) \}/.exec(row)?.[1] ?? '';
  let flat = shape;
  for (let before = ''; before !== flat; ) {
    before = flat;
    flat = flat.replace(/\{[^{}]*\}|\[[^[\]]*\]/g, '');
  }
  return flat
    .split(', ')
    .filter((field) => field !== '…')
    .map((field) => field.replace(/:.*/, ''));
}

describe('docs/reference/command-line.md', () => {
  const program = createProgram(async () => {}, processTerminal());
  const commands = program.createHelp().visibleCommands(program);

  it('documents every command, and no other', () => {
    const first = rows.map((line) => line.split(' | ')[0] ?? '').filter((cell) => cell.startsWith('| `'));
    const table = first.flatMap((cell) => [...cell.matchAll(/`([a-z]+)/g)].map(([, name]) => name));
    for (const command of commands) expect(table).toContain(command.name());
    const known = new Set(commands.map((command) => command.name()));
    expect(table.filter((name) => name !== undefined && !known.has(name))).toEqual([]);
  });

  it('names only existing options', () => {
    const options = new Set(commands.flatMap((command) => command.options.map(({ long }) => long)));
    const named = [...page.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)].map(([option]) => option);
    expect(named.filter((option) => option !== '--help' && !options.has(option))).toEqual([]);
  });

  it('lists every exit code', () => {
    for (const code of Object.values(EXIT)) expect(page).toContain(`| ${code} |`);
  });

  it('names the outputs of a stack', () => {
    for (const output of Object.values(STACK_OUTPUTS)) expect(page).toContain(output);
  });

  it('documents only fields that a command prints', async () => {
    const folder = freshFolder();
    const trip = await travelIn(folder).start({ to: 'Rome' }, { id: 'trip-1', owner: 'ann', requestedBy: 'user:bob' });
    await trip.approve('book', { by: 'user:ann' });
    const command = runIn(folder);
    const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
      ['`runs`', ['runs'], ['parent', 'retention']],
      ['`history`', ['history', 'trip-1', '--from', '3', '--to', '3'], ['name']],
      ['`diff`', ['diff', 'trip-1'], []],
      [
        '`approvals`, `approve`, `reject`, `answer`, `remind`, `withdraw`',
        ['approvals', 'trip-1'],
        ['changed', 'proposal', 'answerSchema', 'answer', 'editsSchema', 'withdrawalReason'],
      ],
      ['`delegate`, `delegations`', ['delegate', 'user:cho', '--as', 'user:ann', '--until', '1h'], ['groups']],
      ['`delegate --end`', ['delegate', '--end', '--as', 'user:ann'], []],
      ['`start`', ['start', 'travel'], []],
      ['`signal`', ['signal', 'trip-1', 'departed'], []],
      ['`fork`', ['fork', 'trip-1'], []],
      ['`rewind`', ['rewind', 'trip-1', '3', '--yes'], []],
      ['`verify`', ['verify', 'trip-1'], []],
      ['`prune`', ['prune', 'trip-1', '--keep-last', '1', '--yes'], []],
      ['`cancel`, `retry`', ['cancel', 'trip-1', '--yes'], []],
      ['`export --out`', ['export', 'trip-1', '--out', `${folder}/x.jsonl`], []],
      ['`export --check`', ['export', '--check', `${folder}/x.jsonl`], []],
      ['`doctor`', ['doctor', '--folder', folder], ['fix']],
    ];
    for (const [row, args, sometimes] of cases) {
      const [line] = (await command([...args, '--json'])).json();
      const fields = documentedFields(row);
      expect(fields.length).toBeGreaterThan(1);
      const missing = fields.filter((field) => !sometimes.includes(field) && !Object.hasOwn(line ?? {}, field));
      expect([row, missing]).toEqual([row, []]);
    }
  });
});
