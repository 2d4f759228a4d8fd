import { describe, expect, it } from 'vitest';
import { STACK_OUTPUTS } from '../../lambda/handlers/stack-outputs.ts';
import { freshBucket, freshTable } from '../engines/engines.ts';
import { fakeCloudFormation } from './fake-cloud-formation.ts';
import { engineEnvironment } from './on-aws.ts';
import { runProcess } from './process.ts';
import { freshFolder } from './scene.ts';

async function scene() {
  const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
  const endpoint = await fakeCloudFormation({
    agents: { [STACK_OUTPUTS.table]: table, [STACK_OUTPUTS.bucket]: bucket },
    other: { SiteUrl: 'https://example.com' },
  });
  const env = { ...engineEnvironment(), AWS_ENDPOINT_URL_CLOUDFORMATION: endpoint };
  const command = (...args: string[]) => runProcess(args, { env });
  return { table, bucket, env, command };
}

describe('waitstate --stack', () => {
  it('finds the table and the bucket in the outputs of a stack', async () => {
    const { command, env, table, bucket } = await scene();
    const started = await command(
      'start',
      'travel',
      '{"to":"Rome"}',
      '--id',
      'trip-1',
      '--stack',
      'agents',
      '--tenant',
      'acme',
    );
    expect([started.code, started.out]).toEqual([0, '✓ Started trip-1\n']);
    // On AWS, the table's stream starts the run, so there is no warning.
    expect(started.err).toMatch(/^Run "waitstate show trip-1 --stack agents( --\S+ \S+)*" to see its progress\.\n$/);
    const shown = await command('show', 'trip-1', '--stack', 'agents', '--tenant', 'acme', '--json');
    expect(JSON.parse(shown.out)).toMatchObject({ run: 'trip-1', status: 'READY', input: { to: 'Rome' } });
    expect((await command('show', 'trip-1', '--stack', 'agents')).code).toBe(3);
    const named = { ...env, WAITSTATE_TABLE: table, WAITSTATE_BUCKET: bucket };
    expect((await runProcess(['show', 'trip-1', '--tenant', 'acme'], { env: named })).out).toContain('READY');
  });

  it('finds a second Waitstate in the same stack', async () => {
    const [table, bucket] = await Promise.all([freshTable(), freshBucket()]);
    const endpoint = await fakeCloudFormation({
      both: {
        ...{ [STACK_OUTPUTS.table]: 'another', [STACK_OUTPUTS.bucket]: 'another' },
        ...{ [`SecondHold${STACK_OUTPUTS.table}`]: table, [`SecondHold${STACK_OUTPUTS.bucket}`]: bucket },
      },
    });
    const env = { ...engineEnvironment(), AWS_ENDPOINT_URL_CLOUDFORMATION: endpoint };
    const started = await runProcess(['start', 'travel', '{"to":"Rome"}', '--stack', 'both#Second-Hold'], { env });
    expect([started.code, started.out]).toEqual([0, expect.stringContaining('✓ Started')]);
    const third = await runProcess(['runs', '--stack', 'both#Third'], { env });
    expect(third.err).toContain('Stack "both" must have an output "ThirdWaitstateTable"; found WaitstateTable');
  });

  it('names a stack or an output that does not exist', async () => {
    const { command } = await scene();
    const missing = await command('runs', '--stack', 'nothing');
    expect(missing.code).toBe(3);
    expect(missing.err).toContain('CloudFormation stack "nothing" was not found in region us-east-1.');
    const other = await command('runs', '--stack', 'other', '--json');
    expect(JSON.parse(other.err).error.message).toContain('must have an output "WaitstateTable"; found SiteUrl.');
    const none = await command('console', '--stack', 'agents');
    expect([none.code, none.err]).toEqual([3, expect.stringContaining('was deployed without an API')]);
  });

  it('prefers the region of the command line to that of the environment', async () => {
    const { command } = await scene();
    expect((await command('runs', '--stack', 'nothing', '--region', 'eu-central-1')).err).toContain(
      'region eu-central-1',
    );
  });

  it('rejects two targets, and a table without a bucket', async () => {
    const { command } = await scene();
    expect((await command('runs', '--stack', 'agents', '--folder', freshFolder())).code).toBe(2);
    const half = await runProcess(['runs'], { env: { WAITSTATE_TABLE: 'runs' } });
    expect([half.code, half.err]).toEqual([2, expect.stringContaining('WAITSTATE_BUCKET is missing')]);
  });

  it('reports missing AWS credentials', async () => {
    const { env } = await scene();
    const withoutCredentials = { ...env, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' };
    const refused = await runProcess(['runs', '--stack', 'agents'], { env: withoutCredentials });
    expect(refused.code).toBe(5);
    expect(refused.err).toContain('CloudFormation stack "agents" are missing');
    expect(refused.err).toContain('Run "waitstate doctor" to find the missing permissions.');
  });
});
