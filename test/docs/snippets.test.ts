import { execFile } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TSC_ENVIRONMENT, tsc } from '../package/pack.ts';
import { codeBlocks, pages, root } from './markdown.ts';

// Declarations that a block may use without importing them.
const PRELUDE = `
interface Trip { budget: number; notes: string[] }
declare const store: import('waitstate/checkpoints').CheckpointStore<Trip>;
declare const bytes: Uint8Array;
declare function searchFlights(): Promise<unknown>;
`;

/** Type-checks modules, each on its own, against the sources; returns the lines that the compiler prints. */
async function typeCheck(modules: ReadonlyMap<string, string>): Promise<readonly string[]> {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'waitstate-docs-')));
  const paths = {
    waitstate: [join(root, 'lambda/index.ts')],
    'waitstate/cdk': [join(root, 'infra/index.ts')],
    'waitstate/*': [join(root, 'lambda/*.ts')],
  };
  const config = { extends: join(root, 'tsconfig.json'), compilerOptions: { paths }, include: ['*.ts'], exclude: [] };
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(project, 'prelude.d.ts'), PRELUDE);
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'), 'dir');
  for (const [name, code] of modules) writeFileSync(join(project, name), `${code}\nexport {};\n`);
  const args = ['-p', project, '--pretty', 'false', '--singleThreaded'];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, [tsc, ...args], { cwd: project, env: TSC_ENVIRONMENT }, (error, stdout, stderr) =>
      resolve(error && stdout === '' ? `${error.message}\n${stderr}` : stdout),
    );
  });
  rmSync(project, { recursive: true });
  return output.split('\n').filter(Boolean);
}

const blocks = pages.flatMap((page) => codeBlocks(page).map((block) => ({ ...block, page: page.path })));

const typed = blocks.filter(({ language }) => language === 'ts');
const WRONG = "import { checkpointStore } from 'waitstate/checkpoints';\nawait checkpointStore().save({ rum: 'x' });";

// The compiler starts once, for all blocks and the wrong one.
let checked: Promise<readonly string[]> | undefined;
function checkAll(): Promise<readonly string[]> {
  // Named after page and line, so that compiler errors point there.
  const name = ({ page, line }: { page: string; line: number }) => `${page.replace(/\W/g, '-')}-line-${line}.ts`;
  checked ??= typeCheck(new Map([...typed.map((block) => [name(block), block.code] as const), ['wrong.ts', WRONG]]));
  return checked;
}

describe('a code block in Markdown', () => {
  it('names its language', () => {
    const unknown = blocks.filter(({ language }) => !['ts', 'sh', 'json', 'python', 'text', ''].includes(language));
    expect(unknown).toEqual([]);
  });

  it('is valid if it is JSON', () => {
    for (const { code } of blocks.filter(({ language }) => language === 'json')) JSON.parse(code);
  });

  it('type-checks if it is TypeScript', async () => {
    expect(typed.length).toBeGreaterThan(10);
    expect((await checkAll()).filter((line) => !line.startsWith('wrong.ts'))).toEqual([]);
  });

  it('fails the check if it has a type error', async () => {
    expect(await checkAll()).toContainEqual(expect.stringMatching(/^wrong\.ts\(2,\d+\): error TS2353/));
  });
});
