import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { projectOf, serverOf } from './scene.ts';

const named = (name: string, result = 'done'): string => `
  import { agent } from 'waitstate';
  export const it = agent({ name: '${name}', run: async () => '${result}' });
`;

describe('files of agents', () => {
  it('that cannot be used are told with place and advice, and keep no other from being used', async () => {
    const project = projectOf({
      'good.ts': named('good'),
      'enum.ts': `${named('enum')}\nenum Colour { Red }\n`,
      'syntax.ts': 'export const a = 1;\nexport const b = ;\n',
      'jsx.tsx': 'export const a = <p/>;\n',
      'throws.ts': `const settings: { url?: string } = {};\n\nif (!settings.url) throw new Error('There is no URL.');\nexport {};\n`,
      'inside.ts': `import './throws.ts';\n`,
      'extension.ts': `import './good';\n`,
      'package.ts': `import type { A } from 'a';\nimport { b } from 'not-installed';\n`,
      'nothing.ts': 'export const a = 1;\n',
      'misused.ts': `import { agent } from 'waitstate';\n\nexport const it = agent({ name: 'misused' } as never);\n`,
      'twice.ts': `${named('one')}\nexport const other = agent({ name: 'one', run: async () => 1 });\n`,
      'quits.ts': 'process.exit(3);\n',
      'text.ts': `throw 'just text';\n`,
      'never.ts': 'for (;;);\n',
    });
    const names = [
      'enum',
      'syntax',
      'throws',
      'inside',
      'extension',
      'package',
      'nothing',
      'misused',
      'twice',
      'quits',
    ];
    const files = [...names.map((name) => `${name}.ts`), 'jsx.tsx', 'never.ts', 'text.ts', 'good.ts'];
    const server = serverOf(project, files, { timing: { heartbeatTimeoutMs: 8_000 } });
    await server.ready();
    for (const line of [
      'enum.ts:5: TypeScript enum is not supported in strip-only mode.',
      'syntax.ts:2: Expression expected.',
      'throws.ts:3: Error: There is no URL.',
      "package.ts:2: Cannot find package 'not-installed' imported from",
      'nothing.ts: It exports no agent. Export what agent({ … }) gives',
      'misused.ts:3: Agent "misused" must define exactly one of `run` and `turn`.',
      'twice.ts: It exports two agents with the name "one". Rename one.',
      'quits.ts: Loading it ends the process (exit code 3).',
      'jsx.tsx: Unknown file extension ".tsx"',
      'text.ts: It throws just text when it is loaded.',
      'never.ts: Loading it does not come to an end.',
    ])
      expect(server.log).toContain(line);
    expect(server.log).toMatch(
      /extension\.ts:1: Cannot find module .*\n +Name the file with its extension: good\.ts\./,
    );
    expect(server.log.match(/Node only strips types\./g)).toHaveLength(2);
    expect(server.log).toContain('Install it (npm install not-installed)');
    expect(server.lines.filter((line) => line.includes('throws.ts:3'))).toHaveLength(2);
    expect(await server.ask('/api/agents')).toEqual({ agents: [{ name: 'good' }] });
    await server.becomes(await server.start('good'), 'SUCCEEDED');
  });

  it('that package.json keeps from being modules are told in one line, and used as soon as that is mended', async () => {
    const project = projectOf({ 'package.json': '{"type":"commonjs"}', 'agents/greet.ts': named('greet') });
    const server = serverOf(project, ['agents/greet.ts']);
    await server.ready();
    const [only, ...others] = server.lines.filter((line) => line.includes('greet.ts'));
    expect(only).toMatch(
      /agents\/greet\.ts:2: It is an ES module, and package\.json says that it is not\. Run "npm pkg set type=module", or name it greet\.mts\.$/,
    );
    expect(others).toEqual([]);
    expect(server.log).not.toContain('trace-warnings');

    project.write('package.json', '{"type":"module"}');
    await server.says(/agents\/greet\.ts has changed: greet/);
    await server.becomes(await server.start('greet'), 'SUCCEEDED');
    // Another reason to change it is not worth a line: nothing was wrong.
    project.write('package.json', '{"private":true}');
    await pause(1_500);
    await server.becomes(await server.start('greet'), 'SUCCEEDED');
    expect(server.lines.filter((line) => line.includes('has changed'))).toHaveLength(1);
    expect(server.log).not.toContain('MODULE_TYPELESS');
  });

  it('may warn of what they like', async () => {
    const project = projectOf({ 'a.ts': `${named('a')}\nprocess.emitWarning('This is old.');\n` });
    const server = serverOf(project, ['a.ts']);
    await server.ready();
    expect(server.log).toMatch(/a\.ts: \(node:\d+\) Warning: This is old\./);
  });

  it('are looked at again when they or what they import change, told in one line', async () => {
    const project = projectOf({
      'agents/price.ts': 'export const price = 1;\n',
      'agents/shop.ts': `
        import { agent } from 'waitstate';
        import { price } from './price.ts';
        export const shop = agent({ name: 'shop', run: async () => price });
      `,
    });
    const server = serverOf(project, ['agents/shop.ts']);
    await server.ready();
    expect(await server.becomes(await server.start('shop'), 'SUCCEEDED')).toMatchObject({ result: 1 });

    project.write('agents/price.ts', 'export const price = 2;\n');
    await server.says(/agents\/shop\.ts has changed: shop/);
    expect(await server.becomes(await server.start('shop'), 'SUCCEEDED')).toMatchObject({ result: 2 });

    // As editors do: a new file in the place of the old one.
    project.write('agents/shop.ts~', named('market', 'sold'));
    renameSync(project.file('agents/shop.ts~'), project.file('agents/shop.ts'));
    await server.says(/agents\/shop\.ts has changed: market/);
    expect(await server.ask('/api/agents')).toEqual({ agents: [{ name: 'market' }] });
    await server.becomes(await server.start('market'), 'SUCCEEDED');

    // What it no longer imports, and what only looks changed, changes nothing.
    project.write('agents/price.ts', 'export const price = 3;\n');
    utimesSync(project.file('agents/shop.ts'), new Date(), new Date());
    await pause(1_000);
    expect(server.lines.filter((line) => line.includes('has changed'))).toHaveLength(2);
  });

  it('behind a symbolic link are looked at again too', async () => {
    const project = projectOf({
      'real/price.ts': 'export const price = 1;\n',
      'real/shop.ts': `
        import { agent } from 'waitstate';
        import { price } from './price.ts';
        export const shop = agent({ name: 'shop-' + price, run: async () => price });
      `,
    });
    symlinkSync(project.file('real'), project.file('agents'));
    const server = serverOf(project, ['agents/shop.ts']);
    await server.ready();
    project.write('real/price.ts', 'export const price = 2;\n');
    await server.says(/agents\/shop\.ts has changed: shop-2/);
    project.write('real/shop.ts', named('other'));
    await server.says(/agents\/shop\.ts has changed: other/);
  });

  it('that no longer load let their runs wait, and go on with them when they do again', async () => {
    const project = projectOf({ 'a.ts': named('a', 'first') });
    const server = serverOf(project, ['a.ts']);
    await server.ready();
    project.write('a.ts', 'export const oops = ;\n');
    await server.says(/a\.ts:1: Expression expected/);
    const run = await server.start('a');
    await pause(1_000);
    expect(await server.ask(`/api/runs/${run}`)).toMatchObject({ status: 'READY', version: 1 });
    expect(server.log).not.toContain('starts: a');
    project.write('a.ts', named('a', 'second'));
    await server.says(/a\.ts has changed: a/);
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'second' });

    rmSync(project.file('a.ts'));
    await server.says(/a\.ts: It is no longer there\./);
  });

  it('that no longer load keep nobody from being told that a run was answered and waits for them', async () => {
    const asks = `
      import { agent } from 'waitstate';
      export const it = agent({
        name: 'a',
        run: async (ctx) => (await ctx.approval('send', { title: 'Send it?', approvers: ['user:ann'] })).by,
      });
    `;
    const project = projectOf({ 'a.ts': asks });
    const server = serverOf(project, ['a.ts']);
    await server.ready();
    const run = await server.start('a');
    const link = await server.link();
    project.write('a.ts', 'export const oops = ;\n');
    await server.says(/a\.ts:1: Expression expected/);
    await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await server.says(new RegExp(`${run} +approved by user:ann: Send it`));
    await server.says(new RegExp(`${run} +is ready; a\\.ts does not load`));
    project.write('a.ts', asks);
    await server.becomes(run, 'SUCCEEDED');
    expect(server.lines.filter((line) => line.includes('approved by'))).toHaveLength(1);
    expect(server.lines.filter((line) => line.includes('does not load'))).toHaveLength(1);
  });

  it('are not watched when nobody wants that, but run as they are now', async () => {
    const project = projectOf({ 'a.ts': named('a', 'first') });
    const server = serverOf(project, ['a.ts'], { watch: false, timing: { crashBackoffMs: 20 } });
    await server.ready();
    project.write('a.ts', 'export const oops = ;\n');
    const run = await server.start('a');
    await server.says(/a\.ts:1: Expression expected/);
    project.write('a.ts', named('a', 'second'));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'second' });
    expect(server.log).not.toContain('has changed');
  });

  it('of which two have agents of one name: the first counts, and the other is told', async () => {
    const project = projectOf({ 'one.ts': named('same', 'one'), 'two.ts': named('same', 'two') });
    const server = serverOf(project, ['one.ts', 'two.ts']);
    await server.ready();
    await server.says(/two\.ts: Its agent "same" is not used: one\.ts has one of that name already\./);
    expect(await server.becomes(await server.start('same'), 'SUCCEEDED')).toMatchObject({ result: 'one' });
    project.write('one.ts', named('other'));
    await server.says(/one\.ts has changed: other/);
    expect(await server.becomes(await server.start('same'), 'SUCCEEDED')).toMatchObject({ result: 'two' });
  });

  it('that wait for newer code park their runs, without a process again and again', async () => {
    const state = (version: number) => `
      import { agent } from 'waitstate';
      export const saved = agent({
        name: 'saved',
        state: { version: ${version}, initial: () => ({}), migrations: { ${version > 1 ? '1: (state: object) => state' : ''} } },
        run: (ctx) => ctx.waitForSignal('go'),
      });
    `;
    const project = projectOf({ 'saved.ts': state(2) });
    const server = serverOf(project, ['saved.ts']);
    await server.ready();
    const run = await server.start('saved');
    await server.becomes(run, 'WAITING_FOR_SIGNAL');
    project.write('saved.ts', state(1));
    await server.says(/saved\.ts has changed/);
    await server.ask(`/api/runs/${run}/signals`, { name: 'go', value: 'went' });
    await server.says(new RegExp(`${run} +waits for other code`));
    await pause(1_500);
    expect(server.lines.filter((line) => line.includes('(pid'))).toHaveLength(2);
    project.write('saved.ts', state(2));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'went' });
  });

  it('may be patterns that no shell has replaced', async () => {
    const project = projectOf({ 'agents/a.ts': named('a'), 'agents/b.ts': named('b'), 'agents/b.txt': 'no' });
    const server = serverOf(project, ['agents/*.ts']);
    await server.ready();
    expect(await server.ask('/api/agents')).toEqual({ agents: [{ name: 'a' }, { name: 'b' }] });
  });

  it('that are not there are refused at once', async () => {
    const project = projectOf();
    for (const given of ['nowhere.ts', 'agents/*.ts', '.']) {
      const server = serverOf(project, [given]);
      await server.over;
      expect(server.child.exitCode).toBe(1);
      expect(server.log).toMatch(/There is no file .*Name the files of your agents|No file is called agents/);
    }
  });
});

describe('what agents import as waitstate', () => {
  const WHICH = `
    import * as waitstate from 'waitstate';
    import { embeddedStorage } from 'waitstate/embedded';
    const which = (waitstate as { COPY?: string }).COPY ?? (embeddedStorage ? 'that of the command' : '');
    export const it = waitstate.agent({ name: 'which', run: async () => which });
  `;
  const own = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

  it('is that of the command, where none is installed beside them', async () => {
    const project = projectOf({
      'which.ts': WHICH,
      'common.cjs': `exports.it = require('waitstate').agent({ name: 'cjs', run: async () => 'required' });`,
    });
    const server = serverOf(project, ['which.ts', 'common.cjs']);
    await server.ready();
    expect(await server.becomes(await server.start('which'), 'SUCCEEDED')).toMatchObject({
      result: 'that of the command',
    });
    expect(await server.becomes(await server.start('cjs'), 'SUCCEEDED')).toMatchObject({ result: 'required' });
  });

  it('is the one that is installed beside them, with a storage of the same copy', async () => {
    const project = projectOf({ 'which.ts': WHICH });
    const copy = project.file('node_modules/waitstate');
    mkdirSync(copy, { recursive: true });
    const exports = { '.': './index.js', './embedded': './embedded.js', './package.json': './package.json' };
    writeFileSync(
      join(copy, 'package.json'),
      JSON.stringify({ name: 'waitstate', version: '9.9.9', type: 'module', exports }),
    );
    const bundled = await bundle([own('lambda/index.ts'), own('lambda/embedded.ts')], copy);
    expect(bundled).toBe(true);
    const server = serverOf(project, ['which.ts']);
    await server.ready();
    expect(await server.becomes(await server.start('which'), 'SUCCEEDED')).toMatchObject({ result: 'the other copy' });
  });

  it.each([
    ['the sources in a checkout, whatever was built there before', 'cli/dev/agents', '.ts', 'lambda/index.ts'],
    ['what was built where the command is that too', 'dist/cli/dev/agents', '.js', 'dist/lambda/index.js'],
  ])('is %s', (_, command, extension, expected) => {
    const project = projectOf({
      'package.json': JSON.stringify({ name: 'waitstate', type: 'module', exports: './dist/lambda/index.js' }),
      'lambda/index.ts': '',
      'dist/lambda/index.js': '',
      'examples/which.js': `
        import { registerWaitstateResolver } from '../${command}/find-waitstate${extension}';
        registerWaitstateResolver();
        console.log(import.meta.resolve('waitstate'));
      `,
    });
    for (const name of ['find-waitstate', 'own-file']) {
      const source = readFileSync(own(`cli/dev/agents/${name}.ts`), 'utf8');
      const code =
        extension === '.ts' ? source : stripTypeScriptTypes(source).replaceAll(/from '(.*)\.ts'/g, "from '$1.js'");
      project.write(`${command}/${name}${extension}`, code);
    }
    const found = execFileSync(process.execPath, [project.file('examples/which.js')], { encoding: 'utf8' });
    expect(found.trim()).toBe(pathToFileURL(project.file(expected)).href);
  });
});

/** Another copy of the package, as an installation would have it, that says which one it is. */
async function bundle(entryPoints: readonly string[], outdir: string): Promise<boolean> {
  const { build } = await import('esbuild');
  const { errors } = await build({
    ...{ entryPoints: [...entryPoints], outdir, bundle: true, splitting: true, format: 'esm', platform: 'node' },
    external: ['@aws-sdk/*'],
    plugins: [
      {
        name: 'which copy',
        setup: ({ onLoad }) =>
          onLoad({ filter: /lambda\/index\.ts$/ }, async ({ path }) => {
            const { readFile } = await import('node:fs/promises');
            return {
              contents: `${await readFile(path, 'utf8')}\nexport const COPY = 'the other copy';\n`,
              loader: 'ts',
            };
          }),
      },
    ],
  });
  return errors.length === 0;
}
