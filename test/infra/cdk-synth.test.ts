import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { cachedFolder } from '../cached-folder.ts';
import { repeats } from '../deep.ts';
import { freshFolder } from './template.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CDK = createRequire(import.meta.url).resolve('aws-cdk/bin/cdk');

/** An environment without an account, a network and Docker. */
const ISOLATED_ENVIRONMENT = {
  PATH: [join(ROOT, 'node_modules/.bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
  HOME: freshFolder(),
  // Nothing listens on this port.
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  AWS_EC2_METADATA_DISABLED: 'true',
  CDK_DOCKER: join(ROOT, 'no-docker-here'),
  // schemas.test.ts validates the same template, with the schemas loaded once for several templates.
  CDK_VALIDATION: repeats('false', 'true'),
};

interface Manifest {
  readonly missing?: readonly unknown[];
  readonly artifacts: Readonly<Record<string, { readonly type: string }>>;
}

/** The output of the command, which fails if anything is wrong with the app or the template. */
const synthesized = (context: readonly string[]): Promise<string> =>
  cachedFolder({
    name: repeats('synthesized', 'synthesized-and-validated'),
    sources: ['cdk.json', '{infra,lambda,examples}/**/*.{ts,json}', 'test/infra/cdk-synth.test.ts'],
    make: async (folder) => {
      const args = ['synth', '--quiet', '--output', folder, ...context.flatMap((option) => ['--context', option])];
      await promisify(execFile)(process.execPath, [CDK, ...args], { cwd: ROOT, env: ISOLATED_ENVIRONMENT });
    },
  });

// CDK bundles all functions, which takes a while on a busy machine.
const CDK_MS = 300_000;

it(
  'cdk synth creates the template and the code of the app without an account, a network or Docker',
  async () => {
    const folder = await synthesized([
      'stack=Trial',
      'email=ops@example.com',
      'operators=Admin',
      'model=eu.example.model',
      'disposable=true',
    ]);

    const { missing, artifacts } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
    expect(missing).toBeUndefined();
    const stacks = Object.entries(artifacts).filter(([, { type }]) => type === 'aws:cloudformation:stack');
    expect(stacks.map(([name]) => name)).toEqual(['Trial']);

    const text = readFileSync(join(folder, 'Trial.template.json'), 'utf8');
    const template = JSON.parse(text) as Readonly<Record<'Resources' | 'Outputs', Readonly<Record<string, unknown>>>>;
    expect(Object.keys(template.Outputs)).toEqual(expect.arrayContaining([STACK_OUTPUTS.table, STACK_OUTPUTS.apiUrl]));
    for (const trace of ['ops@example.com', ':assumed-role/Admin/*', 'inference-profile/eu.example.model'])
      expect(text).toContain(trace);
    expect(text).not.toContain('"Retain"');

    // One asset for all handlers, and one for each agent.
    const code = readdirSync(folder).filter((name) => name.startsWith('asset.'));
    expect(code.filter((name) => existsSync(join(folder, name, 'api.mjs'))).length).toBe(1);
    expect(code.filter((name) => existsSync(join(folder, name, 'index.mjs'))).length).toBe(3);
  },
  CDK_MS,
);
