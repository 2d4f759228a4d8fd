import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ENVIRONMENT as VARIABLES } from '../../lambda/environment/names.ts';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import type { IamCaller } from '../../lambda/http/authorizer-caller.ts';
import { engineEnvironment } from '../cli/on-aws.ts';
import { freshFolder } from '../cli/scene.ts';
import { s3Client } from '../engines/engines.ts';
import { freshServices } from '../examples/simulated.ts';
import { type FakeAws, fakeAws, type Template } from './fake-aws.ts';
import { ACCOUNT, ENVIRONMENT, REGION, type RehearsalOptions, rehearsal } from './rehearsal.ts';

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));

freshServices();
afterEach(() => void vi.unstubAllEnvs());

/** Runs the program in its own process; `onOutput` receives its output so far. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  onOutput: (output: string, pid: number) => void = () => {},
) {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      output += piece;
      onOutput(output, Number(child.pid));
    });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, output };
}

/** A local account: engines, a gateway, and a fake of the other AWS services. */
async function account(fake: Partial<FakeAws> = {}, options: RehearsalOptions = {}) {
  const callers: Record<string, IamCaller> = {};
  const kept: unknown[] = [];
  const deployed = await rehearsal({ callers, ...options });
  const s3 = s3Client();
  await s3.send(new CreateBucketCommand({ Bucket: `cdk-hnb659fds-assets-${ACCOUNT}-${REGION}` })).catch(() => {});
  const { table, bucket, apiUrl } = deployed;
  const aws = await fakeAws({
    s3,
    names: {
      [STACK_OUTPUTS.table]: table,
      [STACK_OUTPUTS.bucket]: bucket,
      [STACK_OUTPUTS.apiUrl]: apiUrl,
      'AWS::S3::Bucket': bucket,
    },
    deployed: (template) => {
      Object.assign(callers, callersIn(template));
      kept.push(...Object.values(template.Resources).filter(({ DeletionPolicy }) => DeletionPolicy === 'Retain'));
    },
    invoke: async (name) => deployed[name.includes('Sweep') ? 'sweep' : 'gauge'](),
    ...fake,
  });
  const env = {
    ...engineEnvironment(),
    ...ENVIRONMENT,
    AWS_ENDPOINT_URL: aws.url,
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    // CDK takes longer to validate a template than to synthesize it; test/infra/schemas.test.ts validates it too.
    CDK_VALIDATION: 'false',
  };
  return { ...deployed, aws, env, s3, kept };
}

/** An AWS configuration file with a region. */
function configFile(region: string): string {
  const file = join(freshFolder(), 'config');
  writeFileSync(file, `[default]\nregion = ${region}\n`);
  return file;
}

/** The IAM callers in the template that CDK deployed. */
function callersIn({ Resources }: Template): Record<string, IamCaller> {
  const [api] = Object.entries(Resources).filter(
    ([id, { Type }]) => Type === 'AWS::Lambda::Function' && /^WaitstateApi\w{8}$/.test(id),
  );
  const { Variables } = Object(api?.[1].Properties?.Environment) as { Variables?: Readonly<Record<string, unknown>> };
  return JSON.parse(textOf(Variables?.[VARIABLES.iamCallers]));
}

const PSEUDO: Readonly<Record<string, string>> = { 'AWS::Partition': 'aws', 'AWS::AccountId': ACCOUNT };

function textOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { 'Fn::Join': join, Ref: ref } = value as { 'Fn::Join'?: [string, unknown[]]; Ref?: string };
  return join ? join[1].map(textOf).join(join[0]) : (PSEUDO[ref ?? ''] ?? '?');
}

// CDK bundles all functions, which takes a while.
const CDK_MS = 300_000;

describe('npm run integ', () => {
  it(
    'deploys with CDK, runs the story with the credentials of the environment, and leaves nothing behind',
    async () => {
      const { aws, env, s3, bucket, kept } = await account();
      const { code, output } = await run(['--yes'], env);
      const lines = output.split('\n').filter((line) => /^[✓✗]/.test(line));
      expect([code, lines.map((line) => line[0]).join('')]).toEqual([0, '✓✓✓✓✓✓✓✓✓✓✓']);
      expect(output).toMatch(/Deployed: http.*\n.*API accepts the caller/);
      expect(output).toContain('| No problems found.');
      expect(lines.at(-1)).toMatch(/^✓ WaitstateInteg-[0-9a-f]{8} is deleted\.$/);
      expect([aws.hasStack(), kept]).toEqual([false, []]);
      expect((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(0);
    },
    CDK_MS,
  );

  it(
    'ends CDK and removes the stack after Ctrl-C, although npm forwards it once more',
    async () => {
      let pid = 0;
      const onRequest = (action: string): Promise<void> | void => {
        if (action !== 'ExecuteChangeSet') return;
        for (let times = 0; times < 2; times++) process.kill(pid, 'SIGINT');
        // CDK waits for this response, and ending CDK must not.
        return new Promise(() => {});
      };
      const { aws, env } = await account({ onRequest });
      // The SDK finds another region than CDK would.
      const elsewhere = {
        ...env,
        CDK_APP: 'node test/integration/small-app.ts',
        AWS_CONFIG_FILE: configFile(REGION),
        AWS_REGION: undefined,
        AWS_DEFAULT_REGION: 'us-east-1',
      };
      const { code, output } = await run(['--yes'], elsewhere, (_, child) => {
        pid = child;
      });
      expect([code, aws.hasStack()]).toEqual([130, false]);
      expect(aws.requests).toContain('ExecuteChangeSet');
      expect(output).toMatch(/\nStopped\.\n\nRemoving WaitstateInteg-.*✓ WaitstateInteg-\w+ is deleted\.\n$/s);
    },
    CDK_MS,
  );

  it('does nothing in an account without the CDK bootstrap', async () => {
    const { aws, env } = await account({ isBootstrapped: false });
    const { code, output } = await run(['--yes'], env);
    expect([code, aws.requests]).toEqual([2, ['GetCallerIdentity', 'AmazonSSM.GetParameter']]);
    expect(output).toContain(`npx cdk bootstrap aws://${ACCOUNT}/${REGION}`);
  });

  it('does nothing without --yes and a terminal', async () => {
    const { aws, env } = await account();
    const { code, output } = await run([], env);
    expect([code, output]).toEqual([2, expect.stringContaining('Pass --yes to run without a prompt.')]);
    expect(aws.requests).toEqual(['GetCallerIdentity', 'AmazonSSM.GetParameter']);
  });

  it('names missing or rejected credentials and a missing region', async () => {
    const { env } = await account();
    const without = (...names: string[]) =>
      run(['--yes'], { ...env, ...Object.fromEntries(names.map((name) => [name, ''])) });
    const noCredentials = await without('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN');
    expect([noCredentials.code, noCredentials.output]).toEqual([
      2,
      expect.stringMatching(/^✗ No AWS credentials were found\. Log in/),
    ]);
    const noRegion = await without('AWS_REGION');
    expect([noRegion.code, noRegion.output]).toEqual([
      2,
      expect.stringMatching(/^✗ No region was found\. Set AWS_REGION/),
    ]);
    const forged = await run(['--yes'], { ...env, AWS_SECRET_ACCESS_KEY: 'another' });
    expect([forged.code, forged.output]).toEqual([
      2,
      expect.stringMatching(/^✗ AWS rejected the credentials: SignatureDoesNotMatch .*Log in again/),
    ]);
    const unreachable = await run(['--yes'], { ...env, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' });
    expect([unreachable.code, unreachable.output]).toEqual([
      2,
      expect.stringMatching(/^✗ STS in eu-west-1 does not respond/),
    ]);
  });

  it('states in its help that CI does not run it on AWS, and lists its exit codes', async () => {
    const { code, output } = await run(['--help']);
    expect(code).toBe(0);
    for (const words of ['CI of the project does not run this', '--yes', '--keep', 'cents', 'Exit codes: 0'])
      expect(output).toContain(words);
    const unknown = await run(['--force']);
    expect([unknown.code, unknown.output]).toEqual([2, expect.stringContaining("Unknown option '--force'")]);
  });
});
