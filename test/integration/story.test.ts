import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSigner } from '../../cli/commands/console/signing.ts';
import { payments } from '../../examples/refunds/shop.ts';
import { s3Client } from '../engines/engines.ts';
import { freshServices, paidIn } from '../examples/simulated.ts';
import type { Cloud } from './cloud.ts';
import { type GatewayResponse, type RehearsalOptions, rehearsal } from './rehearsal.ts';
import { apiAt } from './story/api.ts';
import { story } from './story/story.ts';

freshServices();
afterEach(() => void vi.unstubAllEnvs());

interface StoryOptions extends RehearsalOptions {
  readonly cloud?: Partial<Pick<Cloud, 'invoke' | 'deadLetters' | 'doctor'>>;
  readonly stopsAfterPauses?: number;
}

/** Runs the story on a rehearsal, without real pauses. */
async function runStory({ cloud, stopsAfterPauses = Infinity, ...options }: StoryOptions = {}) {
  const deployed = await rehearsal(options);
  const lines: string[] = [];
  const stop = new AbortController();
  let pauses = 0;
  const { signal } = stop;
  const scene = {
    signal,
    stack: 'WaitstateInteg-1',
    api: apiAt(deployed.apiUrl, await createSigner(deployed.apiUrl), signal),
    pause: async () => {
      if (++pauses > stopsAfterPauses) stop.abort(new Error('stopped'));
      signal.throwIfAborted();
    },
    cloud: {
      invoke: async (_: string, handler: 'sweep' | 'gauge') => deployed[handler](),
      deadLetters: async () => 0,
      doctor: async () => 0,
      ...cloud,
    },
  };
  const failed = await story(scene, { print: (...printed) => void lines.push(...printed.map(String)) }).catch(String);
  return { failed, lines, deployed, output: lines.join('\n') };
}

/** Changes the JSON responses to these requests. */
const altering =
  (pattern: RegExp, change: (body: never) => unknown) =>
  (request: string, { status, body }: GatewayResponse): GatewayResponse =>
    pattern.test(request) && status < 400
      ? { status, body: JSON.stringify(change(JSON.parse(body) as never)) }
      : { status, body };

/** All of these faults in one story. */
const together = (faults: readonly StoryOptions[]): StoryOptions => ({
  ...Object.assign({}, ...faults),
  cloud: Object.assign({}, ...faults.map(({ cloud }) => cloud)),
  alter: (request, response) => faults.reduce((altered, { alter }) => alter?.(request, altered) ?? altered, response),
});

describe('the story', () => {
  it('passes with the real handlers and agents behind a gateway that checks signatures', async () => {
    const { failed, lines, deployed } = await runStory();
    expect(lines.filter((line) => !line.startsWith('✓'))).toEqual([]);
    expect([failed, lines.length]).toEqual([0, 10]);
    expect(await paidIn(payments)).toEqual([['refund of o-17', 80]]);
    // The check is only meaningful if the state was stored in the bucket.
    const { Contents = [] } = await s3Client().send(new ListObjectsV2Command({ Bucket: deployed.bucket }));
    expect(Contents.some(({ Key = '', Size = 0 }) => Key.startsWith('default/integ-saved/') && Size > 50_000)).toBe(
      true,
    );
  });

  it('ends immediately if the API does not accept the caller', async () => {
    const { failed, output } = await runStory({ callers: {} });
    expect(failed).toBe(1);
    expect(output).toContain(
      '✗ the API accepts the caller\n  A response to a signed GET /api/me was expected within 90 seconds; found 401',
    );
    expect(output).toContain('The other checks were skipped.');
  });

  const FAULTS: Readonly<Record<string, readonly [RegExp, StoryOptions]>> = {
    'unsigned requests are accepted': [
      /✗ requests without a valid signature.*\n {2}GET \/api\/runs must return 401 or 403; found 200/,
      { broken: 'signatures' },
    ],
    'agents are not invoked': [
      /✗ a refund waits.*\n {2}Run "integ-refund" with status WAITING_FOR_APPROVAL was expected within 240 seconds; found READY/,
      { broken: 'agents' },
    ],
    'the sweeper does not run': [
      /✗ a run that waits for five minutes.*\n {2}Run "integ-timer" with status SUCCEEDED was expected within 480 seconds; found WAITING_FOR_SIGNAL/,
      { broken: 'schedule' },
    ],
    'links are not served by the application': [
      /✗ an unknown approval link.*\n.*found code undefined/,
      {
        alter: (request, response) =>
          request.includes('/approvals/') && response.body.includes('APPROVAL_NOT_FOUND')
            ? { status: 404, body: '{"message":"Not Found"}' }
            : response,
      },
    ],
    'a step is recorded twice': [
      /✗ a refund waits.*\n {2}The number of records of the step "pay" must be 1; found 2/,
      {
        alter: altering(/checkpoints\?limit/, ({ checkpoints }: { checkpoints: readonly { step?: string }[] }) => ({
          checkpoints: [...checkpoints, ...checkpoints.filter(({ step }) => step === 'pay')],
        })),
      },
    ],
    'the result differs': [
      /The result must be \{"refunded":true,"paid":80/,
      {
        alter: altering(/integ-refund$/, (run: object) =>
          'result' in run ? { ...run, result: { refunded: true, paid: 81 } } : run,
        ),
      },
    ],
    'a run fails': [
      /✗ a refund waits.*\n {2}Run "integ-refund" must become WAITING_FOR_APPROVAL; it ended as FAILED \(Error: No bank\)\./,
      {
        alter: altering(/integ-refund$/, (run: object) => ({
          ...run,
          status: 'FAILED',
          error: { name: 'Error', message: 'No bank', failedOperations: [], notUndone: [], causes: [] },
        })),
      },
    ],
    'one vote is enough': [
      /The status after one of two votes must be "PENDING"; found "APPROVED"/,
      { alter: altering(/decide$/, (approval: object) => ({ ...approval, status: 'APPROVED' })) },
    ],
    'a state is damaged': [
      /✗ a large state.*\n {2}The loaded state must be/,
      {
        alter: altering(/load$/, ({ checkpoint, ...rest }: { checkpoint: object }) => ({
          ...rest,
          checkpoint: { ...checkpoint, state: {} },
        })),
      },
    ],
    'a stale write is accepted': [
      /POST \/api\/runs\/integ-saved\/checkpoints must return 412; found 201/,
      { alter: (_, response) => (response.status === 412 ? { ...response, status: 201 } : response) },
    ],
    'a cancelled run keeps its approval': [
      /✗ a cancelled run.*\n {2}The status of its approval must be "WITHDRAWN"; found "PENDING"/,
      {
        alter: altering(/integ-cancel\/approvals$/, ({ approvals }: { approvals: object[] }) => ({
          approvals: approvals.map((each) => ({ ...each, status: 'PENDING' })),
        })),
      },
    ],
    'a run cannot be swept': [
      /✗ the scheduled functions.*\n {2}The number of runs that failed in a sweep must be 0; found 2/,
      { cloud: { invoke: async () => ({ failed: 2 }) } },
    ],
    'a function fails': [
      /✗ the scheduled functions.*\n {2}No permission/,
      { cloud: { invoke: () => Promise.reject(new Error('No permission')) } },
    ],
    'there are dead letters': [
      /✗ the dead-letter queue is empty.*\n {2}The number of messages must be 0; found 3/,
      { cloud: { deadLetters: async () => 3 } },
    ],
    'the doctor finds a problem': [
      /✗ waitstate doctor.*\n {2}Its exit code must be 0; found 1/,
      { cloud: { doctor: async () => 1 } },
    ],
  };

  // Faults of different checks are tested together, because each story takes a while.
  it.each(
    [
      ['unsigned requests are accepted'],
      ['agents are not invoked'],
      ['the sweeper does not run'],
      ['a run fails'],
      ['one vote is enough'],
      [
        'links are not served by the application',
        'a step is recorded twice',
        'a state is damaged',
        'a cancelled run keeps its approval',
        'a run cannot be swept',
        'there are dead letters',
      ],
      ['the result differs', 'a stale write is accepted', 'a function fails', 'the doctor finds a problem'],
    ].map((names) => [names.join(', '), names] as const),
  )('reports if %s, and continues with the other checks', async (_, names) => {
    const faults = names.map((name) => FAULTS[name] ?? expect.fail(`There is no fault "${name}".`));
    const { failed, lines, output } = await runStory(together(faults.map(([, options]) => options)));
    for (const [expected] of faults) expect(output).toMatch(expected);
    expect(failed).toBeGreaterThanOrEqual(faults.length);
    expect(lines.filter((line) => /^[✓✗]/.test(line))).toHaveLength(10);
  });

  it('stops when its signal aborts', async () => {
    const { failed, output } = await runStory({ stopsAfterPauses: 0 });
    expect(failed).toBe('Error: stopped');
    expect(output).not.toContain('✗');
  });
});
