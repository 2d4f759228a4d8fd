import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { findFiles } from '../../../cli/dev/agents/find-files.ts';
import { serve } from '../../../cli/dev/server/serve.ts';
import { projectOf, serverOf, sharedServer } from './scene.ts';

const named = (name: string, result = 'done'): string => `
  import { agent } from 'waitstate';
  export const it = agent({ name: '${name}', run: async () => '${result}' });
`;

describe('an agent file', () => {
  it('is reported with location and advice if it does not load, and does not block other files', async () => {
    const project = projectOf({
      'good.ts': named('good'),
      'enum.ts': `${named('enum')}\nenum Color { Red }\n`,
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
      // Blocks the process, like an endless loop.
      'never.ts': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);\n',
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
    const server = serverOf(project, files, { timing: { heartbeatTimeoutMs: 5_000 } });
    await server.ready();
    for (const line of [
      'enum.ts:5: TypeScript enum is not supported in strip-only mode.',
      'syntax.ts:2: Expression expected.',
      'throws.ts:3: Error: There is no URL.',
      "package.ts:2: Cannot find package 'not-installed' imported from",
      'nothing.ts: The file exports no agent. Export the result of agent({ … })',
      'misused.ts:3: Agent "misused" must define exactly one of `run` and `turn`.',
      'twice.ts: The file exports two agents with the name "one". Rename one.',
      'quits.ts: Loading the file ends the process (exit code 3).',
      'jsx.tsx: Unknown file extension ".tsx"',
      'text.ts: Loading the file throws just text.',
      'never.ts: Loading the file does not finish.',
    ])
      expect(server.log).toContain(line);
    expect(server.log).toMatch(
      /extension\.ts:1: Cannot find module .*\n +Import the file with its extension: good\.ts\./,
    );
    expect(server.log.match(/Node only strips types\./g)).toHaveLength(2);
    expect(server.log).toContain('Install it (npm install not-installed)');
    expect(server.lines.filter((line) => line.includes('throws.ts:3'))).toHaveLength(2);
    expect(await server.callApi('/api/agents')).toEqual({ agents: [{ name: 'good' }] });
    await server.becomes(await server.start('good'), 'SUCCEEDED');
  });

  it('is reported in one line if package.json says CommonJS, and is used as soon as that is fixed', async () => {
    const project = projectOf({ 'package.json': '{"type":"commonjs"}', 'agents/greet.ts': named('greet') });
    const server = serverOf(project, ['agents/greet.ts']);
    await server.ready();
    const [only, ...others] = server.lines.filter((line) => line.includes('greet.ts'));
    expect(only).toMatch(
      /agents\/greet\.ts:2: The file is an ES module, but its package\.json says CommonJS\. Run "npm pkg set type=module", or rename the file to greet\.mts\.$/,
    );
    expect(others).toEqual([]);
    expect(server.log).not.toContain('trace-warnings');

    project.write('package.json', '{"type":"module"}');
    await server.waitForLine(/Reloaded agents\/greet\.ts: greet/);
    await server.becomes(await server.start('greet'), 'SUCCEEDED');
    // Other changes of package.json are not logged, because the file loaded before.
    project.write('package.json', '{"private":true}');
    await pause(1_500);
    await server.becomes(await server.start('greet'), 'SUCCEEDED');
    expect(server.lines.filter((line) => line.includes('Reloaded'))).toHaveLength(1);
    expect(server.log).not.toContain('MODULE_TYPELESS');
  });

  it('is not watched with --no-watch, but each process loads its current content', async () => {
    const project = projectOf({ 'a.ts': named('a', 'first') });
    const server = serverOf(project, ['a.ts'], { watch: false, timing: { crashBackoffMs: 20 } });
    await server.ready();
    project.write('a.ts', 'export const oops = ;\n');
    const run = await server.start('a');
    await server.waitForLine(/a\.ts:1: Expression expected/);
    project.write('a.ts', named('a', 'second'));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'second' });
    expect(server.log).not.toContain('Reloaded');
  });

  it('is reloaded behind a symbolic link too', async () => {
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
    await server.waitForLine(/Reloaded agents\/shop\.ts: shop-2/);
    project.write('real/shop.ts', named('other'));
    await server.waitForLine(/Reloaded agents\/shop\.ts: other/);
  });

  it('parks a run that needs newer code, without starting more processes', async () => {
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
    await server.waitForLine(/Reloaded saved\.ts/);
    await server.callApi(`/api/runs/${run}/signals`, { name: 'go', value: 'went' });
    await server.waitForLine(new RegExp(`${run} +waits for other code`));
    await pause(1_500);
    expect(server.lines.filter((line) => line.includes('(pid'))).toHaveLength(2);
    project.write('saved.ts', state(2));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'went' });
  });

  it('must exist when the server starts', async () => {
    const folder = projectOf().file('.waitstate');
    for (const given of ['nowhere.ts', 'agents/*.ts', '.'])
      await expect(serve({ files: [given], folder, print: () => {} })).rejects.toThrow(
        /The file .* does not exist\. Name your agent files|No file matches agents/,
      );
  });

  it('is not a test, which the same pattern matches', async () => {
    const project = projectOf({ 'a.ts': '', 'a.test.ts': '', 'b.spec.mts': '' });
    const find = (...given: readonly string[]) => {
      const { files, tests } = findFiles(given, project.path);
      return { files: files.map((file) => basename(file)), tests };
    };
    expect(find('*.ts', '*.mts')).toEqual({ files: ['a.ts'], tests: [] });
    const named = ['a.test.ts', 'b.spec.mts'];
    expect(find('a.ts', ...named)).toEqual({ files: ['a.ts'], tests: named });
    expect(() => find(...named)).toThrow('a.test.ts and b.spec.mts are tests, not agents. Name your agent files');
    expect(() => find('*.test.ts')).toThrow('*.test.ts matches only tests. Name your agent files');
    expect(() => find('*.test.ts', '*.mts')).toThrow('*.test.ts and *.mts match only tests.');
    const given = [project.file('a.test.ts')];
    await expect(serve({ files: given, folder: project.file('.waitstate'), print: () => {} })).rejects.toThrow(
      /a\.test\.ts is a test, not an agent\. Name your agent files/,
    );
    const printed: string[] = [];
    const server = await serve({
      files: [project.file('a.ts'), ...given],
      folder: project.file('.waitstate'),
      watch: false,
      print: (line) => void printed.push(JSON.stringify(line)),
    });
    await server.stop();
    expect(printed.join(' ')).toMatch(/Ignored: \S+a\.test\.ts is a test, not an agent\./);
  });
});

describe.concurrent('an agent file of a server with other files', () => {
  const ASKS = `
    import { agent } from 'waitstate';
    export const it = agent({
      name: 'asks',
      run: async (ctx) => (await ctx.approval('send', { title: 'Send it?', approvers: ['user:ann'] })).by,
    });
  `;
  const { project, server } = sharedServer(
    {
      'warns.ts': `${named('warns')}\nprocess.emitWarning('This is old.');\n`,
      'agents/price.ts': 'export const price = 1;\n',
      'agents/shop.ts': `
        import { agent } from 'waitstate';
        import { price } from './price.ts';
        export const shop = agent({ name: 'shop', run: async () => price });
      `,
      'agents/other.ts': named('other'),
      'waits.ts': named('waits', 'first'),
      'asks.ts': ASKS,
      'one.ts': named('same', 'one'),
      'two.ts': named('same', 'two'),
      'glob/a.ts': named('a'),
      'glob/b.ts': named('b'),
      'glob/b.txt': 'no',
    },
    {
      given: ['agents/shop.ts', 'agents/other.ts', 'waits.ts', 'asks.ts', 'one.ts', 'two.ts', 'glob/*.ts', 'warns.ts'],
    },
  );
  const agentNames = async (): Promise<readonly string[]> => {
    const { agents } = await server.callApi<{ agents: readonly { readonly name: string }[] }>('/api/agents');
    return agents.map(({ name }) => name);
  };
  const reloaded = (file: string) => server.lines.filter((line) => line.includes(`Reloaded ${file}`));

  it('is reloaded when it or one of its imports changes, with one line in the log', async () => {
    expect(await server.becomes(await server.start('shop'), 'SUCCEEDED')).toMatchObject({ result: 1 });

    project.write('agents/price.ts', 'export const price = 2;\n');
    await server.waitForLine(/Reloaded agents\/shop\.ts: shop/);
    expect(await server.becomes(await server.start('shop'), 'SUCCEEDED')).toMatchObject({ result: 2 });

    // Editors replace the file with a new one.
    project.write('agents/shop.ts~', named('market', 'sold'));
    renameSync(project.file('agents/shop.ts~'), project.file('agents/shop.ts'));
    await server.waitForLine(/Reloaded agents\/shop\.ts: market/);
    expect(await agentNames()).toContain('market');
    expect(await agentNames()).not.toContain('shop');
    await server.becomes(await server.start('market'), 'SUCCEEDED');

    // A file that is no longer imported, and a file with only a new timestamp, cause no reload.
    project.write('agents/price.ts', 'export const price = 3;\n');
    utimesSync(project.file('agents/shop.ts'), new Date(), new Date());
    project.write('agents/other.ts', named('another'));
    await server.waitForLine(/Reloaded agents\/other\.ts: another/);
    await pause(500);
    expect(reloaded('agents/shop.ts')).toHaveLength(2);
  });

  it('keeps its runs waiting while it does not load, and resumes them when it does', async () => {
    project.write('waits.ts', 'export const oops = ;\n');
    await server.waitForLine(/waits\.ts:1: Expression expected/);
    const run = await server.start('waits');
    await server.waitForLine(new RegExp(`${run} +is ready, but waits\\.ts does not load`));
    expect(await server.callApi(`/api/runs/${run}`)).toMatchObject({ status: 'READY', version: 1 });
    expect(server.log).not.toContain('starts: waits');
    project.write('waits.ts', named('waits', 'second'));
    await server.waitForLine(/Reloaded waits\.ts: waits/);
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'second' });

    rmSync(project.file('waits.ts'));
    await server.waitForLine(/waits\.ts: The file no longer exists\./);
  });

  it('does not hide a decision in the log while it does not load', async () => {
    const run = await server.start('asks');
    const link = await server.link(run);
    project.write('asks.ts', 'export const oops = ;\n');
    await server.waitForLine(/asks\.ts:1: Expression expected/);
    await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await server.waitForLine(new RegExp(`${run} +approved by user:ann: Send it`));
    await server.waitForLine(new RegExp(`${run} +is ready, but asks\\.ts does not load`));
    project.write('asks.ts', ASKS);
    await server.becomes(run, 'SUCCEEDED');
    expect(server.lines.filter((line) => line.includes('approved by'))).toHaveLength(1);
    expect(server.lines.filter((line) => line.includes('asks.ts does not load'))).toHaveLength(1);
  });

  it('is reported if another file already defines its agent', async () => {
    await server.waitForLine(
      /two\.ts: Agent "same" is ignored, because one\.ts already defines an agent with this name\./,
    );
    expect(await server.becomes(await server.start('same'), 'SUCCEEDED')).toMatchObject({ result: 'one' });
    project.write('one.ts', named('different'));
    await server.waitForLine(/Reloaded one\.ts: different/);
    expect(await server.becomes(await server.start('same'), 'SUCCEEDED')).toMatchObject({ result: 'two' });
  });

  it('may emit its own warnings', () => {
    expect(server.log).toMatch(/warns\.ts: \(node:\d+\) Warning: This is old\./);
  });

  it('can be named by a glob pattern that the shell did not expand', async () => {
    expect(await agentNames()).toEqual(expect.arrayContaining(['a', 'b']));
    expect(server.log).not.toContain('b.txt');
  });
});

describe('the waitstate package that agents import', () => {
  const WHICH = `
    import * as waitstate from 'waitstate';
    import { embeddedStorage } from 'waitstate/embedded';
    const which = (waitstate as { COPY?: string }).COPY ?? (embeddedStorage ? 'the copy of the command' : '');
    export const it = waitstate.agent({ name: 'which', run: async () => which });
  `;
  const own = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

  it('is the copy of the command if none is installed next to them', async () => {
    const project = projectOf({
      'which.ts': WHICH,
      'common.cjs': `exports.it = require('waitstate').agent({ name: 'cjs', run: async () => 'required' });`,
    });
    const server = serverOf(project, ['which.ts', 'common.cjs']);
    await server.ready();
    expect(await server.becomes(await server.start('which'), 'SUCCEEDED')).toMatchObject({
      result: 'the copy of the command',
    });
    expect(await server.becomes(await server.start('cjs'), 'SUCCEEDED')).toMatchObject({ result: 'required' });
  });

  it('is the copy that is installed next to them, with a storage from the same copy', async () => {
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
    ['resolved to the sources in a checkout, even if there is a build', 'cli/dev/agents', '.ts', 'lambda/index.ts'],
    ['resolved to the build if the command runs from the build', 'dist/cli/dev/agents', '.js', 'dist/lambda/index.js'],
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

/** Builds a second copy of the package, which exports a marker. */
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
