import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { HANDLERS } from '../../lambda/environment/names.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');

// The packages in a project that deploys: no AWS SDK and no Powertools.
const INSTALLED = [
  'aws-cdk-lib',
  'constructs',
  'esbuild',
  '@esbuild',
  'zod',
  'hono',
  'commander',
  '@hono',
  'aws4fetch',
  'string-width',
];

const APP = `
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Waitstate } from 'waitstate/cdk';
const app = new App({ outdir: 'cdk.out' });
const waitstate = new Waitstate(new Stack(app, 'Mine'), 'Waitstate', { retention: Duration.days(90) });
waitstate.addAgent('greet', { entry: 'agents/greet.ts' });
app.synth();
`;

const AGENT = `
import { agent } from 'waitstate';
const greet = agent({ name: 'greet', run: (ctx, name: string) => ctx.step('write', () => \`Hello, \${name}!\`) });
export const handler = greet.handler();
`;

/** Creates a project with the published form of the package. */
function createProject(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'waitstate-package-')));
  const modules = join(folder, 'node_modules');
  const published = join(modules, 'waitstate');
  mkdirSync(join(folder, 'agents'), { recursive: true });
  mkdirSync(published, { recursive: true });
  execFileSync(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(published, 'dist')]);
  execFileSync(process.execPath, [join(ROOT, 'infra/handlers/build.ts'), join(published, 'dist/functions')]);
  copyFileSync(join(ROOT, 'package.json'), join(published, 'package.json'));
  for (const name of INSTALLED) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'dir');
  writeFileSync(join(folder, 'package.json'), '{"name":"mine","type":"module"}');
  writeFileSync(join(folder, 'package-lock.json'), '{"name":"mine","lockfileVersion":3,"packages":{}}');
  writeFileSync(join(folder, 'app.mjs'), APP);
  writeFileSync(join(folder, 'agents/greet.ts'), AGENT);
  return folder;
}

describe('the package in a user project', () => {
  let folder = '';
  beforeAll(() => {
    folder = createProject();
    execFileSync(process.execPath, ['app.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  });

  const assets = () =>
    readdirSync(join(folder, 'cdk.out'))
      .filter((name) => name.startsWith('asset.'))
      .map((name) => join(folder, 'cdk.out', name));

  it('deploys its bundled handlers without the AWS SDK and Powertools installed', () => {
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

  it('ships the licenses of bundled packages', () => {
    const licenses = readFileSync(join(folder, 'node_modules/waitstate/dist/functions/LICENSES.txt'), 'utf8');
    for (const name of [
      '@aws-sdk/client-dynamodb',
      '@aws-lambda-powertools/logger',
      'hono',
      'zod',
      'aws-xray-sdk-core',
    ])
      expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
  });

  it('contains no path of the build machine', () => {
    const functions = join(folder, 'node_modules/waitstate/dist/functions');
    const withPath = readdirSync(functions).filter((file) =>
      readFileSync(join(functions, file), 'utf8').includes(ROOT),
    );
    expect(withPath).toEqual([]);
  });
});
