import { EventEmitter } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Interrupted } from '../../cli/terminal/prompt-errors.ts';
import type { Cloud } from './cloud.ts';
import { type Integration, integrate } from './integrate.ts';
import { interruptsOf } from './interrupts.ts';
import { SetupError } from './setup-error.ts';

const STACK = 'WaitstateInteg-1';
const BUCKET = { type: 'AWS::S3::Bucket', name: 'the-bucket' };
const ITSELF = { type: 'AWS::CloudFormation::Stack', name: STACK };

interface PlayOptions extends Partial<Pick<Integration, 'yes' | 'keep'>> {
  /** Overrides of the cloud; `press` sends a Ctrl-C, a second after the previous one. */
  readonly cloud?: (press: () => void) => Partial<Cloud>;
  readonly story?: (press: () => void) => Promise<number>;
  /** The answer at the prompt. @default there is no prompt */
  readonly typed?: () => Promise<string | undefined>;
}

/** Runs the test on a fake cloud, which records its calls. */
async function play({ cloud, story = async () => 0, typed, yes = true, keep = false }: PlayOptions = {}) {
  const calls: string[] = [];
  const lines: string[] = [];
  const signals = new EventEmitter();
  let time = 0;
  const press = () => {
    time += 1_000;
    signals.emit('SIGINT');
  };
  const base: Cloud = {
    account: async () => ({
      id: '111122223333',
      region: 'eu-west-1',
      caller: 'arn:aws:sts::111122223333:assumed-role/Admin/me',
    }),
    isBootstrapped: async () => true,
    deploy: async () => ({ apiUrl: 'https://api.example' }),
    invoke: async () => ({}),
    deadLetters: async () => 0,
    doctor: async () => 0,
    empty: async () => {},
    destroy: async () => {},
    left: async () => [],
    ...cloud?.(press),
  };
  const recorded = Object.fromEntries(
    Object.entries(base).map(([name, does]) => {
      const record = (...args: never[]) => {
        calls.push([name, ...args.filter((arg) => typeof arg === 'string')].join(' '));
        return (does as (...args: never[]) => unknown)(...args);
      };
      return [name, record];
    }),
  ) as unknown as Cloud;
  const code = await integrate({
    cloud: recorded,
    stack: STACK,
    yes,
    keep,
    interrupts: interruptsOf(signals, () => time),
    story: (apiUrl) => {
      calls.push(`story ${apiUrl}`);
      return story(press);
    },
    terminal: { print: (...output) => void lines.push(...output.map(String)), ...(typed && { ask: typed }) },
  });
  return { code, calls, output: lines.join('\n') };
}

const REMOVED = [`empty ${STACK}`, `destroy ${STACK}`, `left ${STACK}`];
const DEPLOYED = ['account', 'isBootstrapped', `deploy ${STACK} Admin`];
const STORY_DONE = [...DEPLOYED, 'story https://api.example'];

/** Rejects only when the signal aborts. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('the integration test', () => {
  it('prints its plan, deploys, runs the story, empties and removes the stack, and passes', async () => {
    const { code, calls, output } = await play();
    expect([code, calls]).toEqual([0, [...STORY_DONE, ...REMOVED]]);
    for (const word of [
      '111122223333',
      'eu-west-1',
      STACK,
      'US cents',
      '15 minutes',
      'CI of the project do not',
      'is deleted',
    ])
      expect(output).toContain(word);
  });

  it.each([
    ['y', 0, true],
    ['Yes', 0, true],
    ['n', 2, false],
    ['', 2, false],
    [undefined, 2, false],
  ])('asks for confirmation without --yes, and after %j exits with code %d', async (typed, expected, deploys) => {
    const { code, calls } = await play({ yes: false, typed: async () => typed });
    expect([code, calls.includes(`deploy ${STACK} Admin`)]).toEqual([expected, deploys]);
  });

  it('does nothing without a prompt or after Ctrl-C at the prompt', async () => {
    const noPrompt = await play({ yes: false });
    expect([noPrompt.code, noPrompt.output]).toEqual([
      2,
      expect.stringContaining('Pass --yes to run without a prompt.'),
    ]);
    const pressed = await play({ yes: false, typed: () => Promise.reject(new Interrupted()) });
    expect([pressed.code, pressed.output]).toEqual([130, expect.stringContaining('Nothing was deployed.')]);
    for (const { calls } of [noPrompt, pressed]) expect(calls).toEqual(['account', 'isBootstrapped']);
  });

  it('does nothing without credentials, or with those of a caller that the API cannot identify', async () => {
    const without = await play({
      cloud: () => ({ account: () => Promise.reject(new SetupError('No AWS credentials.')) }),
    });
    expect([without.code, without.calls, without.output]).toEqual([2, ['account'], '✗ No AWS credentials.']);
    const caller = 'arn:aws:iam::111122223333:root';
    const root = await play({ cloud: () => ({ account: async () => ({ id: '1', region: 'r', caller }) }) });
    expect([root.code, root.calls, root.output]).toEqual([2, ['account'], expect.stringContaining('Assume a role')]);
  });

  it('prints how to bootstrap an account', async () => {
    const { code, calls, output } = await play({ cloud: () => ({ isBootstrapped: async () => false }) });
    expect([code, calls]).toEqual([2, ['account', 'isBootstrapped']]);
    expect(output).toContain('npx cdk bootstrap aws://111122223333/eu-west-1');
  });

  it('removes the stack if the deployment fails', async () => {
    const { code, calls, output } = await play({
      cloud: () => ({ deploy: () => Promise.reject(new Error('No more buckets.')) }),
    });
    expect([code, calls]).toEqual([1, [...DEPLOYED, ...REMOVED]]);
    expect(output).toContain('✗ No more buckets.');
  });

  it('removes the stack if a check fails or the story breaks off', async () => {
    const wrong = await play({ story: async () => 2 });
    expect([wrong.code, wrong.calls, wrong.output]).toEqual([
      1,
      [...STORY_DONE, ...REMOVED],
      expect.stringContaining('Failed checks: 2.'),
    ]);
    const broken = await play({ story: () => Promise.reject(new Error('No network.')) });
    expect([broken.code, broken.calls, broken.output]).toEqual([
      1,
      [...STORY_DONE, ...REMOVED],
      expect.stringContaining('No network.'),
    ]);
  });

  it('removes the stack after Ctrl-C at any time', async () => {
    const early = await play({
      cloud: (press) => ({
        isBootstrapped: async () => {
          press();
          return true;
        },
      }),
    });
    expect([early.code, early.calls]).toEqual([130, ['account', 'isBootstrapped']]);
    const deploying = await play({
      cloud: (press) => ({
        deploy: (_, __, signal) => {
          queueMicrotask(press);
          return untilAborted(signal);
        },
      }),
    });
    expect([deploying.code, deploying.calls]).toEqual([130, [...DEPLOYED, ...REMOVED]]);
    const looking = await play({
      story: async (press) => {
        press();
        throw new Error('aborted');
      },
    });
    expect([looking.code, looking.calls]).toEqual([130, [...STORY_DONE, ...REMOVED]]);
  });

  it('keeps everything with --keep and prints how to remove it', async () => {
    const { code, calls, output } = await play({ keep: true, cloud: () => ({ left: async () => [ITSELF, BUCKET] }) });
    expect([code, calls]).toEqual([0, [...STORY_DONE, `left ${STACK}`]]);
    expect(output).toContain('keeps everything, because of --keep');
    expect(output).toContain('aws s3 rm s3://the-bucket --recursive --region eu-west-1');
    expect(output).toContain(`aws cloudformation delete-stack --stack-name ${STACK} --region eu-west-1`);
    const failed = await play({
      keep: true,
      story: async () => 1,
      cloud: () => ({ left: () => Promise.reject(new Error()) }),
    });
    expect([failed.code, failed.output]).toEqual([1, expect.stringContaining('delete-stack')]);
  });
});

describe('the clean-up', () => {
  it('empties and removes again if the bucket was written to meanwhile', async () => {
    let tries = 0;
    const destroy = async () => {
      if (++tries === 1) throw new Error('The bucket is not empty.');
    };
    const { code, calls } = await play({ cloud: () => ({ destroy }) });
    expect([code, calls.slice(STORY_DONE.length)]).toEqual([0, [...REMOVED.slice(0, 2), ...REMOVED]]);
  });

  it('removes the stack although its bucket could not be emptied', async () => {
    const { code, calls, output } = await play({
      cloud: () => ({ empty: () => Promise.reject(new Error('Access denied.')) }),
    });
    expect([code, calls]).toEqual([0, [...STORY_DONE, ...REMOVED]]);
    expect(output).toContain('Emptying the bucket failed: Access denied.');
  });

  it('fails if resources remain, and prints them with the commands to remove them', async () => {
    const destroy = () => Promise.reject(new Error('Access denied.'));
    const { code, output } = await play({ cloud: () => ({ destroy, left: async () => [ITSELF, BUCKET] }) });
    expect(code).toBe(1);
    expect(output).toContain(`✗ ${STACK} is not deleted.`);
    expect(output).toContain('  AWS::S3::Bucket the-bucket');
    expect(output).toContain('aws s3 rm s3://the-bucket --recursive --region eu-west-1');
    expect(output).toContain(`aws cloudformation delete-stack --stack-name ${STACK} --region eu-west-1`);
    const many = Array.from({ length: 90 }, (_, i) => ({ type: 'AWS::Logs::LogGroup', name: `log-${i}` }));
    expect((await play({ cloud: () => ({ left: async () => many }) })).output).toContain('  and 78 more');
  });

  it('fails if the remaining resources cannot be listed', async () => {
    const { code, output } = await play({
      cloud: () => ({ left: () => Promise.reject(new Error('The token has expired.')) }),
    });
    expect([code, output]).toEqual([1, expect.stringContaining('could not be listed')]);
    expect(output).toContain('delete-stack');
  });

  it('stops after another Ctrl-C and prints the remaining resources', async () => {
    const { code, calls, output } = await play({
      story: async (press) => {
        press();
        throw new Error('aborted');
      },
      cloud: (press) => ({
        destroy: (_, signal) => {
          queueMicrotask(press);
          return untilAborted(signal);
        },
        left: async () => [ITSELF],
      }),
    });
    expect([code, calls]).toEqual([130, [...STORY_DONE, ...REMOVED]]);
    expect(output).toContain('is not deleted');
  });
});

describe('Ctrl-C', () => {
  it('counts once if it arrives from the terminal and from npm', () => {
    const signals = new EventEmitter();
    let time = 0;
    const { stop, leave } = interruptsOf(signals, () => time);
    expect(stop.aborted).toBe(false);
    signals.emit('SIGINT');
    time += 20;
    signals.emit('SIGINT');
    expect([stop.aborted, leave.aborted]).toEqual([true, false]);
    time += 1_000;
    signals.emit('SIGINT');
    expect(leave.aborted).toBe(true);
  });

  it('has the same effect as SIGTERM and SIGHUP', () => {
    for (const signal of ['SIGTERM', 'SIGHUP']) {
      const signals = new EventEmitter();
      const { stop } = interruptsOf(signals);
      signals.emit(signal);
      expect(stop.aborted).toBe(true);
    }
  });
});
