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

/** Runs the program as a process of its own; `heard` sees what it says as it does. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  heard: (said: string, pid: number) => void = () => {},
) {
  const { PATH, HOME, TMPDIR } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH, HOME, TMPDIR, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      said += piece;
      heard(said, Number(child.pid));
    });
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, said };
}

/** An account on this machine: engines, a gateway, and what is left of AWS. */
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
      ...{ [STACK_OUTPUTS.table]: table, [STACK_OUTPUTS.bucket]: bucket, [STACK_OUTPUTS.apiUrl]: apiUrl },
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
    ...{ AWS_ENDPOINT_URL: aws.url, CDK_DISABLE_CLI_TELEMETRY: 'true' },
  };
  return { ...deployed, aws, env, s3, kept };
}

/** A configuration of AWS with a region. */
function configFile(region: string): string {
  const file = join(freshFolder(), 'config');
  writeFileSync(file, `[default]\nregion = ${region}\n`);
  return file;
}

/** Whom the template that CDK deployed lets in. */
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

// CDK bundles all that it deploys.
const CDK_MS = 300_000;

describe('npm run integ', () => {
  it(
    'deploys by CDK, tells the story with the credentials of the environment, and leaves nothing',
    async () => {
      const { aws, env, s3, bucket, kept } = await account();
      const { code, said } = await run(['--yes'], env);
      const lines = said.split('\n').filter((line) => /^[✓✗]/.test(line));
      expect([code, lines.map((line) => line[0]).join('')]).toEqual([0, '✓✓✓✓✓✓✓✓✓✓✓']);
      expect(said).toMatch(/Deployed: http.*\n.*API answers who deployed it/);
      expect(said).toContain('| All is well.');
      expect(lines.at(-1)).toMatch(/^✓ WaitstateInteg-[0-9a-f]{8} is gone\.$/);
      expect([aws.isThere(), kept]).toEqual([false, []]);
      expect((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(0);
    },
    CDK_MS,
  );

  it(
    'ends CDK and removes what there is after a Ctrl-C, though npm passes it on once more',
    async () => {
      let pid = 0;
      const asked = (action: string): Promise<void> | void => {
        if (action !== 'ExecuteChangeSet') return;
        for (let times = 0; times < 2; times++) process.kill(pid, 'SIGINT');
        // CDK waits for an answer; whoever ends it must not.
        return new Promise(() => {});
      };
      const { aws, env } = await account({ asked });
      // Where the SDK finds another region than CDK would.
      const elsewhere = {
        ...env,
        AWS_CONFIG_FILE: configFile(REGION),
        AWS_REGION: undefined,
        AWS_DEFAULT_REGION: 'us-east-1',
      };
      const { code, said } = await run(['--yes'], elsewhere, (_, child) => {
        pid = child;
      });
      expect([code, aws.isThere()]).toEqual([130, false]);
      expect(aws.requests).toContain('ExecuteChangeSet');
      expect(said).toMatch(/\nStopped\.\n\nRemoving WaitstateInteg-.*✓ WaitstateInteg-\w+ is gone\.\n$/s);
    },
    CDK_MS,
  );

  it('does nothing in an account that CDK cannot deploy to', async () => {
    const { aws, env } = await account({ isBootstrapped: false });
    const { code, said } = await run(['--yes'], env);
    expect([code, aws.requests]).toEqual([2, ['GetCallerIdentity', 'AmazonSSM.GetParameter']]);
    expect(said).toContain(`npx cdk bootstrap aws://${ACCOUNT}/${REGION}`);
  });

  it('does nothing without --yes where nobody can be asked', async () => {
    const { aws, env } = await account();
    const { code, said } = await run([], env);
    expect([code, said]).toEqual([2, expect.stringContaining('Pass --yes if you mean it.')]);
    expect(aws.requests).toEqual(['GetCallerIdentity', 'AmazonSSM.GetParameter']);
  });

  it('says what is missing without credentials or region, and when AWS refuses them', async () => {
    const { env } = await account();
    const without = (...names: string[]) =>
      run(['--yes'], { ...env, ...Object.fromEntries(names.map((name) => [name, ''])) });
    const nobody = await without('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN');
    expect([nobody.code, nobody.said]).toEqual([2, expect.stringMatching(/^✗ No AWS credentials were found\. Log in/)]);
    const nowhere = await without('AWS_REGION');
    expect([nowhere.code, nowhere.said]).toEqual([2, expect.stringMatching(/^✗ No region was found\. Set AWS_REGION/)]);
    const forged = await run(['--yes'], { ...env, AWS_SECRET_ACCESS_KEY: 'another' });
    expect([forged.code, forged.said]).toEqual([
      2,
      expect.stringMatching(/^✗ AWS does not take the credentials: SignatureDoesNotMatch .*Log in again/),
    ]);
    const away = await run(['--yes'], { ...env, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' });
    expect([away.code, away.said]).toEqual([2, expect.stringMatching(/^✗ STS in eu-west-1 does not answer/)]);
  });

  it('says in its help that the project does not run it on AWS, and what it ends with', async () => {
    const { code, said } = await run(['--help']);
    expect(code).toBe(0);
    for (const words of ['The project itself does not run this', '--yes', '--keep', 'cents', 'Ends with 0'])
      expect(said).toContain(words);
    const unknown = await run(['--force']);
    expect([unknown.code, unknown.said]).toEqual([2, expect.stringContaining("Unknown option '--force'")]);
  });
});
