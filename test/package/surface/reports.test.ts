import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { removeTemporaryFolders, temporaryFolder } from '../pack.ts';
import { writeReports } from './reports.ts';
import { changedNames } from './snapshot.ts';

/** Writes declaration files, and the reports of those that are entries. */
function reportsOf(entries: Readonly<Record<string, string>>, files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return writeReports(new Map(Object.entries(entries).map(([entry, file]) => [entry, join(folder, file)])));
}

afterAll(removeTemporaryFolders);

describe('a report of the surface', () => {
  it('shows every exported name with its declaration and the types that it refers to, without comments', () => {
    const reports = reportsOf(
      { mine: 'index.d.ts' },
      {
        'index.d.ts':
          "export { run } from './inner/run.ts';\nexport type { Options as RunOptions } from './inner/run.ts';",
        'inner/run.d.ts': `
          import type { Client } from 'some-sdk';
          interface Base { readonly client?: Client; }
          /** Explained. */
          export interface Options extends Base {
            /** Explained, too. */
            readonly retry?: number;
          }
          export interface Unused { readonly x: number; }
          export declare function run(options: Options): Promise<void>;
          export declare function run(text: string): Promise<void>;
        `,
      },
    );
    expect(reports.get('mine')?.replaceAll(/\s+/g, ' ')).toBe(
      "import type { Client } from 'some-sdk'; " +
        'export { Options as RunOptions }; ' +
        'export function run(options: Options): Promise<void>; export function run(text: string): Promise<void>; ' +
        '// Not exported; the declarations above refer to these. ' +
        'interface Base { readonly client?: Client; } ' +
        'interface Options extends Base { readonly retry?: number; } ',
    );
  });

  it('refers to the first entry that exports a declaration', () => {
    const reports = reportsOf(
      { mine: 'index.d.ts', 'mine/other': 'other.d.ts' },
      {
        'index.d.ts': "export type { Duration } from './duration.ts';",
        'other.d.ts':
          "export type { Duration } from './duration.ts';\nexport declare const wait: (time: import('./duration.ts').Duration) => void;",
        'duration.d.ts': 'export interface Duration { readonly seconds: number; }',
      },
    );
    expect(reports.get('mine')).toBe('export interface Duration { readonly seconds: number; }\n');
    expect(reports.get('mine/other')).toBe(
      "import type { Duration } from 'mine';\n\nexport { Duration } from 'mine';\n\nexport const wait: (time: Duration) => void;\n",
    );
  });
});

describe('a change of the surface', () => {
  const before = `
    export type Answer = ('yes' | 'no')[];
    export declare function ask(text: string): Answer;
    export declare function ask(text: string, options: object): Answer;
  `;

  it('is not a change of formatting', () => {
    const formatted = before
      .replaceAll("'", '"')
      .replace('(text: string, options: object)', '(\n text: string,\n options: object,\n)');
    expect(changedNames(before, `// Generated.\n${formatted}`)).toEqual([]);
  });

  it.each([
    ['another type of a member', before.replace("'no'", "'never'"), ['Answer']],
    ['another overload', before.replace('options: object', 'options?: object'), ['ask']],
    ['a name that is new', `${before}export interface Options {}`, ['Options']],
    ['a name that is gone', before.replace(/export type.*/, ''), ['Answer']],
    ['a name that is no longer exported', before.replace('export type', 'type'), ['Answer']],
  ])('is %s', (_, after, names) => {
    expect(changedNames(before, after)).toEqual(names);
  });
});
