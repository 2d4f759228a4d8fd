import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENTRIES, ROOT } from '../../build/package-entries.ts';
import { HANDLERS } from '../../lambda/environment/names.ts';
import { findOldNode } from './old-node.ts';
import { createProject, DEPENDENCIES, packPackage, removeTemporaryFolders, TSC_ENVIRONMENT, tsc } from './pack.ts';
import { changedNames, SNAPSHOTS, snapshotFile, surfaceOf } from './surface/snapshot.ts';

const run = promisify(execFile);
const MINUTES = 60_000;

let tarball = '';
beforeAll(async () => {
  tarball = await packPackage();
}, 5 * MINUTES);
afterAll(removeTemporaryFolders);

describe('a project that deploys the package', () => {
  const APP = `
    import { App, Duration, Stack } from 'aws-cdk-lib';
    import { Waitstate } from 'waitstate/cdk';
    // test/infra validates the templates, which takes longer than the rest of a synthesis.
    const app = new App({ outdir: 'cdk.out', builtinCloudFormationValidation: false });
    const waitstate = new Waitstate(new Stack(app, 'Mine'), 'Waitstate', { retention: Duration.days(90) });
    waitstate.addAgent('greet', { entry: 'agents/greet.ts' });
    app.synth();
  `;
  const AGENT = `
    import { agent } from 'waitstate';
    const greet = agent({ name: 'greet', run: (ctx, name: string) => ctx.step('write', () => \`Hello, \${name}!\`) });
    export const handler = greet.handler();
  `;
  let folder = '';
  beforeAll(async () => {
    // No AWS SDK and no Powertools.
    folder = await createProject(tarball, [...DEPENDENCIES, 'aws-cdk-lib', 'constructs', 'esbuild', '@esbuild'], {
      'package-lock.json': '{"name":"mine","lockfileVersion":3,"packages":{}}',
      'app.mjs': APP,
      'agents/greet.ts': AGENT,
    });
    await run(process.execPath, ['app.mjs'], { cwd: folder });
  }, 5 * MINUTES);

  const assets = () =>
    readdirSync(join(folder, 'cdk.out'))
      .filter((name) => name.startsWith('asset.'))
      .map((name) => join(folder, 'cdk.out', name));

  it('deploys the bundled handlers without the AWS SDK and Powertools installed', () => {
    const handlers = assets().find((asset) => readdirSync(asset).includes('api.mjs')) ?? '';
    expect(readdirSync(handlers)).toEqual(expect.arrayContaining(HANDLERS.map((name) => `${name}.mjs`)));
    const published = join(folder, 'node_modules/waitstate/dist/functions/api.mjs');
    expect(readFileSync(join(handlers, 'api.mjs'))).toEqual(readFileSync(published));
    // No packages are installed around the asset, as in Lambda.
    const load = `for (const name of ${JSON.stringify(HANDLERS)}) console.log(typeof (await import('./' + name + '.mjs')).handler);`;
    const loaded = execFileSync(process.execPath, ['--input-type=module', '-e', load], {
      cwd: handlers,
      encoding: 'utf8',
    });
    expect(loaded.trim().split('\n')).toEqual(HANDLERS.map(() => 'function'));
  });

  it('bundles an agent from its source, without AWS SDK packages that are not installed', () => {
    const agent = assets().find((asset) => readdirSync(asset).includes('index.mjs')) ?? '';
    const code = readFileSync(join(agent, 'index.mjs'), 'utf8');
    expect(code).toContain('Hello, ');
    expect(code).toMatch(/from"@aws-sdk\/client-dynamodb"/);
    expect(code).not.toContain('WaitstateTable');
  });

  it('gets the licenses of bundled packages', () => {
    const licenses = readFileSync(join(folder, 'node_modules/waitstate/dist/functions/LICENSES.txt'), 'utf8');
    for (const name of ['@aws-sdk/client-dynamodb', '@aws-lambda-powertools/logger', 'hono', 'zod'])
      expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
  });

  it('gets no path of the build machine', () => {
    const dist = join(folder, 'node_modules/waitstate/dist');
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.(m?js|map|ts)$/.test(file),
    );
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((file) => readFileSync(join(dist, file), 'utf8').includes(ROOT))).toEqual([]);
  });
});

describe('the declarations of the package', () => {
  // The strictest project: no newer library, no DOM, and every declaration file is checked.
  const CONFIG = {
    compilerOptions: {
      ...{ lib: ['es2022'], target: 'es2022', module: 'nodenext', types: ['node'] },
      ...{ strict: true, skipLibCheck: false, noEmit: true },
      // The rest of this package is the services that ours does not use, half of all lines to compile.
      paths: { 'aws-cdk-lib': ['./node_modules/aws-cdk-lib/core/index.d.ts'] },
    },
    include: ['*.ts'],
  };
  const NEED_PEERS = /\/(dynamodb|kms|opentelemetry|cdk|handlers\/.*)$/;
  const PEERS = [
    ...['@aws-sdk', '@smithy', '@aws', '@aws-lambda-powertools', '@opentelemetry'],
    ...['aws-cdk-lib', 'constructs', 'tslib'],
  ];

  it.each([
    ['without the optional peer dependencies', [...ENTRIES.keys()].filter((name) => !NEED_PEERS.test(name)), []],
    ['with the optional peer dependencies', [...ENTRIES.keys()], PEERS],
  ])('compile under lib es2022 %s, and without skipLibCheck', async (_, entries, peers) => {
    const imports = entries.map((name, at) => `import * as entry${at} from '${name}';\nconsole.log(entry${at});\n`);
    const folder = await createProject(tarball, [...DEPENDENCIES, ...peers, '@types/node', 'undici-types'], {
      'tsconfig.json': JSON.stringify(CONFIG),
      'main.ts': imports.join(''),
    });
    const args = ['-p', folder, '--pretty', 'false', '--singleThreaded'];
    const { stdout } = await run(process.execPath, [tsc, ...args], { env: TSC_ENVIRONMENT }).catch((error) => error);
    expect(stdout).toBe('');
  });
});

describe('the public surface', () => {
  it('is the one that was reviewed; `npm run surface` updates its reports', async () => {
    const folder = await createProject(tarball, [], {});
    const reports = surfaceOf(join(folder, 'node_modules/waitstate/dist'));
    expect(reports.size).toBe(ENTRIES.size);
    const changed = [...reports].flatMap(([entry, report]) => {
      const file = join(SNAPSHOTS, snapshotFile(entry));
      const reviewed = existsSync(file) ? readFileSync(file, 'utf8') : '';
      return changedNames(reviewed, report).map((name) => `${entry}: ${name}`);
    });
    expect(changed, 'The public types have changed. Run `npm run surface`, review and commit the result.').toEqual([]);
    const page = readFileSync(join(ROOT, 'docs/reference/entry-points.md'), 'utf8');
    for (const entry of ENTRIES.keys()) expect(page).toContain(`(api/${snapshotFile(entry)})`);
    const files = readdirSync(SNAPSHOTS, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files.toSorted()).toEqual([...ENTRIES.keys()].map(snapshotFile).toSorted());
  });
});

describe('the modules of the package', () => {
  /** The files that an import loads, of this package and of others. */
  async function filesLoadedBy(
    name: string,
  ): Promise<{ readonly own: readonly string[]; readonly others: readonly string[] }> {
    const folder = await createProject(tarball, DEPENDENCIES, {
      'main.mjs': `
        import { registerHooks } from 'node:module';
        const loaded = [];
        registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
        await import('${name}');
        console.log(JSON.stringify(loaded));
      `,
    });
    const { stdout } = await run(process.execPath, ['main.mjs'], { cwd: folder });
    const files = (JSON.parse(stdout) as string[]).filter((url) => url.startsWith('file:'));
    const isOwn = (url: string) => url.includes('/node_modules/waitstate/');
    return { own: files.filter(isOwn), others: files.filter((url) => !isOwn(url)) };
  }

  // Most of the time of an import is spent per file: resolve, read, compile.
  it.each([
    ['waitstate', 6],
    ['waitstate/checkpoints', 5],
    ['waitstate/embedded', 6],
  ])('are in at most $1 files for the entry $0, and load no other package', async (name, limit) => {
    const { own, others } = await filesLoadedBy(name);
    expect(own.length).toBeGreaterThan(1);
    expect(own.length).toBeLessThanOrEqual(limit);
    expect(others).toEqual([]);
  });
});

describe('the command of the package', () => {
  it('starts from the tarball, finds its version and runs an agent on the local server', async () => {
    const folder = await createProject(tarball, DEPENDENCIES, {
      'greet.ts': `
        import { agent } from 'waitstate';
        export const greet = agent({ name: 'greet', run: (ctx, name: string) => ctx.step('write', () => 'Hello, ' + name) });
      `,
    });
    const main = join(folder, 'node_modules/waitstate/dist/cli/main.js');
    const waitstate = async (...args: readonly string[]) =>
      (await run(process.execPath, [main, ...args], { cwd: folder })).stdout;
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect((await waitstate('--version')).trim()).toBe(version);
    const server = execFile(process.execPath, [main, 'dev', 'greet.ts', '--port', '0'], { cwd: folder });
    try {
      await waitstate('start', 'greet', '"Ann"', '--id', 'greet-1');
      const show = async () => JSON.parse(await waitstate('show', 'greet-1', '--json'));
      await expect
        .poll(show, { timeout: 60_000, interval: 500 })
        .toMatchObject({ status: 'SUCCEEDED', result: 'Hello, Ann' });
    } finally {
      server.kill('SIGINT');
    }
  });
});

const old = findOldNode();

describe(`the package on ${old ? `Node ${old.version}` : 'a Node below 22.15: SKIPPED, because there is none on the PATH'}`, () => {
  const LINE = `Waitstate needs Node 22.15 or later; this is v${old?.version}. Install Node 24`;

  it.skipIf(!old)(
    'says which version is needed when an entry is imported, except the client for browsers',
    async () => {
      const folder = await createProject(
        tarball,
        readdirSync(join(ROOT, 'node_modules')).filter((name) => !name.startsWith('.')),
        {
          'main.mjs': `
        for (const name of ${JSON.stringify([...ENTRIES.keys()])})
          console.log(await import(name).then(() => name + ' loads', ({ message }) => message));
      `,
        },
      );
      const { stdout } = await run(old?.path ?? '', ['main.mjs'], { cwd: folder });
      const expected = [...ENTRIES.keys()].map((name) => (name === 'waitstate/client' ? `${name} loads` : `${LINE}.`));
      expect(stdout.trim().split('\n')).toEqual(expected);
    },
  );

  it.skipIf(!old)('says so in one line when the command starts', async () => {
    const folder = await createProject(tarball, DEPENDENCIES, {});
    const main = join(folder, 'node_modules/waitstate/dist/cli/main.js');
    const { code, stderr } = await run(old?.path ?? '', [main, 'runs']).catch((error) => error);
    expect(code).toBe(1);
    expect(stderr).toBe(`✗ ${LINE} from https://nodejs.org or with your version manager.\n`);
  });
});
