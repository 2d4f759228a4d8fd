import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSigner } from '../../cli/commands/console/signing.ts';
import { payments } from '../../examples/refunds/shop.ts';
import { s3Client } from '../engines/engines.ts';
import { freshServices, paidIn } from '../examples/simulated.ts';
import type { Cloud } from './cloud.ts';
import { type Passing, type RehearsalOptions, rehearsal } from './rehearsal.ts';
import { apiAt } from './story/api.ts';
import { story } from './story/story.ts';

freshServices();
afterEach(() => void vi.unstubAllEnvs());

interface Told extends RehearsalOptions {
  readonly cloud?: Partial<Pick<Cloud, 'invoke' | 'deadLetters' | 'doctor'>>;
  readonly stopsAfterPauses?: number;
}

/** Tells the story on a rehearsal; no time passes in its pauses. */
async function tell({ cloud, stopsAfterPauses = Infinity, ...options }: Told = {}) {
  const deployed = await rehearsal(options);
  const lines: string[] = [];
  const stop = new AbortController();
  let pauses = 0;
  const { signal } = stop;
  const scene = {
    ...{ signal, stack: 'WaitstateInteg-1' },
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
  const failed = await story(scene, { print: (...said) => void lines.push(...said.map(String)) }).catch(String);
  return { failed, lines, deployed, told: lines.join('\n') };
}

/** Changes the JSON of the answers to these requests. */
const bending =
  (which: RegExp, change: (body: never) => unknown) =>
  (request: string, { status, body }: Passing): Passing =>
    which.test(request) && status < 400
      ? { status, body: JSON.stringify(change(JSON.parse(body) as never)) }
      : { status, body };

describe('the story on what is deployed', () => {
  it('is told to its end by the real handlers and agents, behind a gateway that checks signatures', async () => {
    const { failed, lines, deployed } = await tell();
    expect(lines.filter((line) => !line.startsWith('✓'))).toEqual([]);
    expect([failed, lines.length]).toEqual([0, 10]);
    expect(paidIn(payments)).toEqual([['refund of o-17', 80]]);
    // That the state was kept there is what the check is about.
    const { Contents = [] } = await s3Client().send(new ListObjectsV2Command({ Bucket: deployed.bucket }));
    expect(Contents.some(({ Key = '', Size = 0 }) => Key.startsWith('default/integ-saved/') && Size > 50_000)).toBe(
      true,
    );
  });

  it('ends at once where the API does not know who deployed it', async () => {
    const { failed, told } = await tell({ callers: {} });
    expect(failed).toBe(1);
    expect(told).toContain(
      '✗ the API answers who deployed it\n  An answer to a signed GET /api/me was expected within 90 seconds; found 401',
    );
    expect(told).toContain('The rest was not looked at.');
  });

  it.each<[string, RegExp, Told]>([
    [
      'requests without a signature are answered',
      /✗ without a signature.*\n {2}GET \/api\/runs must answer 401 or 403; it answered 200/,
      { broken: 'signatures' },
    ],
    [
      'nobody invokes agents',
      /✗ a refund waits.*\n {2}Run "integ-refund" with status WAITING_FOR_APPROVAL was expected within 240 seconds; found READY/,
      { broken: 'agents' },
    ],
    [
      'nobody sweeps',
      /✗ a run that waits for five minutes.*\n {2}Run "integ-timer" with status SUCCEEDED was expected within 480 seconds; found WAITING_FOR_SIGNAL/,
      { broken: 'schedule' },
    ],
    [
      'links are answered by something else',
      /✗ a link that nobody made.*\n.*found undefined/,
      {
        bend: (request, answer) =>
          request.includes('/approvals/') && answer.body.includes('APPROVAL_NOT_FOUND')
            ? { status: 404, body: '{"message":"Not Found"}' }
            : answer,
      },
    ],
    [
      'a step is recorded twice',
      /✗ a refund waits.*\n {2}How often the step "pay" was recorded must be 1; found 2/,
      {
        bend: bending(/checkpoints\?limit/, ({ checkpoints }: { checkpoints: readonly { step?: string }[] }) => ({
          checkpoints: [...checkpoints, ...checkpoints.filter(({ step }) => step === 'pay')],
        })),
      },
    ],
    [
      'the result is another',
      /The result must be \{"refunded":true,"paid":80/,
      {
        bend: bending(/integ-refund$/, (run: object) =>
          'result' in run ? { ...run, result: { refunded: true, paid: 81 } } : run,
        ),
      },
    ],
    [
      'a run fails',
      /✗ a refund waits.*\n {2}Run "integ-refund" must become WAITING_FOR_APPROVAL; it ended as FAILED \(Error: No bank\)\./,
      {
        bend: bending(/integ-refund$/, (run: object) => ({
          ...{ ...run, status: 'FAILED' },
          error: { name: 'Error', message: 'No bank', failedAt: [], notUndone: [] },
        })),
      },
    ],
    [
      'one vote is enough',
      /The approval of one of two must be "PENDING"; found "APPROVED"/,
      { bend: bending(/decide$/, (approval: object) => ({ ...approval, status: 'APPROVED' })) },
    ],
    [
      'a state is damaged',
      /✗ a state that is kept.*\n {2}The state that is loaded must be/,
      {
        bend: bending(/load$/, ({ checkpoint, ...rest }: { checkpoint: object }) => ({
          ...rest,
          checkpoint: { ...checkpoint, state: {} },
        })),
      },
    ],
    [
      'who writes late is not refused',
      /POST \/api\/runs\/integ-saved\/checkpoints must answer 412; it answered 201/,
      { bend: (_, answer) => (answer.status === 412 ? { ...answer, status: 201 } : answer) },
    ],
    [
      'a cancelled run still asks',
      /✗ a run that is cancelled.*\n {2}The approval must be "WITHDRAWN"; found "PENDING"/,
      {
        bend: bending(/integ-cancel\/approvals$/, ({ approvals }: { approvals: object[] }) => ({
          approvals: approvals.map((each) => ({ ...each, status: 'PENDING' })),
        })),
      },
    ],
    [
      'a run could not be swept',
      /✗ the functions on a schedule.*\n {2}How many runs could not be swept must be 0; found 2/,
      { cloud: { invoke: async () => ({ failed: 2 }) } },
    ],
    [
      'a function fails',
      /✗ the functions on a schedule.*\n {2}No permission/,
      { cloud: { invoke: () => Promise.reject(new Error('No permission')) } },
    ],
    [
      'something was given up',
      /✗ nothing was given up.*\n {2}How many there are must be 0; found 3/,
      { cloud: { deadLetters: async () => 3 } },
    ],
    [
      'the doctor finds a problem',
      /✗ waitstate doctor.*\n {2}Its exit code must be 0; found 1/,
      { cloud: { doctor: async () => 1 } },
    ],
  ])('says so when %s, and looks at the rest', async (_, said, told) => {
    const { failed, lines, told: all } = await tell(told);
    expect(all).toMatch(said);
    expect(failed).toBeGreaterThan(0);
    expect(lines.filter((line) => /^[✓✗]/.test(line))).toHaveLength(10);
  });

  it('stops where it is when somebody wants it to', async () => {
    const { failed, told } = await tell({ stopsAfterPauses: 0 });
    expect(failed).toBe('Error: stopped');
    expect(told).not.toContain('✗');
  });
});
