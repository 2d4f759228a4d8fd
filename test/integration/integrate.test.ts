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

interface Played extends Partial<Pick<Integration, 'yes' | 'keep'>> {
  /** What the cloud does otherwise; `press` is a Ctrl-C, a second after the one before. */
  readonly cloud?: (press: () => void) => Partial<Cloud>;
  readonly story?: (press: () => void) => Promise<number>;
  /** What somebody types; without, there is nobody. */
  readonly typed?: () => Promise<string | undefined>;
}

/** Plays a test on a cloud that does all that is asked, and remembers it. */
async function play({ cloud, story = async () => 0, typed, yes = true, keep = false }: Played = {}) {
  const done: string[] = [];
  const lines: string[] = [];
  const signals = new EventEmitter();
  let time = 0;
  const press = () => {
    time += 1_000;
    signals.emit('SIGINT');
  };
  const worked: Cloud = {
    account: async () => ({
      id: '111122223333',
      region: 'eu-west-1',
      caller: 'arn:aws:sts::111122223333:assumed-role/Admin/me',
    }),
    isBootstrapped: async () => true,
    deploy: async () => ({ apiUrl: 'https://api.example' }),
    ...{ invoke: async () => ({}), deadLetters: async () => 0, doctor: async () => 0 },
    ...{ empty: async () => {}, destroy: async () => {}, left: async () => [] },
    ...cloud?.(press),
  };
  const remembered = Object.fromEntries(
    Object.entries(worked).map(([name, does]) => {
      const remember = (...args: never[]) => {
        done.push([name, ...args.filter((arg) => typeof arg === 'string')].join(' '));
        return (does as (...args: never[]) => unknown)(...args);
      };
      return [name, remember];
    }),
  ) as unknown as Cloud;
  const code = await integrate({
    ...{ cloud: remembered, stack: STACK, yes, keep, interrupts: interruptsOf(signals, () => time) },
    story: (apiUrl) => {
      done.push(`story ${apiUrl}`);
      return story(press);
    },
    terminal: { print: (...said) => void lines.push(...said.map(String)), ...(typed && { ask: typed }) },
  });
  return { code, done, said: lines.join('\n') };
}

const REMOVED = [`empty ${STACK}`, `destroy ${STACK}`, `left ${STACK}`];
const DEPLOYED = ['account', 'isBootstrapped', `deploy ${STACK} Admin`];
const TOLD = [...DEPLOYED, 'story https://api.example'];

/** Never ends by itself, only by its signal. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('the integration test', () => {
  it('says what it does, deploys, looks, empties, removes, and passes', async () => {
    const { code, done, said } = await play();
    expect([code, done]).toEqual([0, [...TOLD, ...REMOVED]]);
    for (const word of [
      '111122223333',
      'eu-west-1',
      STACK,
      'US cents',
      '15 minutes',
      'CI of the project do not',
      'is gone',
    ])
      expect(said).toContain(word);
  });

  it.each([
    ['y', 0, true],
    ['Yes', 0, true],
    ['n', 2, false],
    ['', 2, false],
    [undefined, 2, false],
  ])('without --yes asks, and %j ends with %d', async (typed, expected, deploys) => {
    const { code, done } = await play({ yes: false, typed: async () => typed });
    expect([code, done.includes(`deploy ${STACK} Admin`)]).toEqual([expected, deploys]);
  });

  it('does nothing where nobody can be asked, or somebody presses Ctrl-C', async () => {
    const nobody = await play({ yes: false });
    expect([nobody.code, nobody.said]).toEqual([2, expect.stringContaining('Pass --yes if you mean it.')]);
    const pressed = await play({ yes: false, typed: () => Promise.reject(new Interrupted()) });
    expect([pressed.code, pressed.said]).toEqual([130, expect.stringContaining('Nothing was done.')]);
    for (const { done } of [nobody, pressed]) expect(done).toEqual(['account', 'isBootstrapped']);
  });

  it('does nothing without credentials, or with those of nobody whom the API could know', async () => {
    const without = await play({
      cloud: () => ({ account: () => Promise.reject(new SetupError('No AWS credentials.')) }),
    });
    expect([without.code, without.done, without.said]).toEqual([2, ['account'], '✗ No AWS credentials.']);
    const caller = 'arn:aws:iam::111122223333:root';
    const root = await play({ cloud: () => ({ account: async () => ({ id: '1', region: 'r', caller }) }) });
    expect([root.code, root.done, root.said]).toEqual([2, ['account'], expect.stringContaining('Assume a role')]);
  });

  it('says how to prepare an account that CDK cannot deploy to', async () => {
    const { code, done, said } = await play({ cloud: () => ({ isBootstrapped: async () => false }) });
    expect([code, done]).toEqual([2, ['account', 'isBootstrapped']]);
    expect(said).toContain('npx cdk bootstrap aws://111122223333/eu-west-1');
  });

  it('removes what there is when the deployment fails', async () => {
    const { code, done, said } = await play({
      cloud: () => ({ deploy: () => Promise.reject(new Error('No more buckets.')) }),
    });
    expect([code, done]).toEqual([1, [...DEPLOYED, ...REMOVED]]);
    expect(said).toContain('✗ No more buckets.');
  });

  it('removes everything when something is not as it must be, or the story breaks off', async () => {
    const wrong = await play({ story: async () => 2 });
    expect([wrong.code, wrong.done, wrong.said]).toEqual([
      1,
      [...TOLD, ...REMOVED],
      expect.stringContaining('2 of these'),
    ]);
    const broken = await play({ story: () => Promise.reject(new Error('No network.')) });
    expect([broken.code, broken.done, broken.said]).toEqual([
      1,
      [...TOLD, ...REMOVED],
      expect.stringContaining('No network.'),
    ]);
  });

  it('removes what there is after a Ctrl-C, whenever it is pressed', async () => {
    const early = await play({
      cloud: (press) => ({
        isBootstrapped: async () => {
          press();
          return true;
        },
      }),
    });
    expect([early.code, early.done]).toEqual([130, ['account', 'isBootstrapped']]);
    const deploying = await play({
      cloud: (press) => ({
        deploy: (_, __, signal) => {
          queueMicrotask(press);
          return untilAborted(signal);
        },
      }),
    });
    expect([deploying.code, deploying.done]).toEqual([130, [...DEPLOYED, ...REMOVED]]);
    const looking = await play({
      story: async (press) => {
        press();
        throw new Error('aborted');
      },
    });
    expect([looking.code, looking.done]).toEqual([130, [...TOLD, ...REMOVED]]);
  });

  it('with --keep leaves everything, and says how to remove it', async () => {
    const { code, done, said } = await play({ keep: true, cloud: () => ({ left: async () => [ITSELF, BUCKET] }) });
    expect([code, done]).toEqual([0, [...TOLD, `left ${STACK}`]]);
    expect(said).toContain('leaves everything, since you said --keep');
    expect(said).toContain('aws s3 rm s3://the-bucket --recursive --region eu-west-1');
    expect(said).toContain(`aws cloudformation delete-stack --stack-name ${STACK} --region eu-west-1`);
    const failed = await play({
      keep: true,
      story: async () => 1,
      cloud: () => ({ left: () => Promise.reject(new Error()) }),
    });
    expect([failed.code, failed.said]).toEqual([1, expect.stringContaining('delete-stack')]);
  });
});

describe('the clean-up', () => {
  it('empties and removes once more when something was written meanwhile', async () => {
    let tries = 0;
    const destroy = async () => {
      if (++tries === 1) throw new Error('The bucket is not empty.');
    };
    const { code, done } = await play({ cloud: () => ({ destroy }) });
    expect([code, done.slice(TOLD.length)]).toEqual([0, [...REMOVED.slice(0, 2), ...REMOVED]]);
  });

  it('removes the stack though its bucket could not be emptied', async () => {
    const { code, done, said } = await play({
      cloud: () => ({ empty: () => Promise.reject(new Error('Access denied.')) }),
    });
    expect([code, done]).toEqual([0, [...TOLD, ...REMOVED]]);
    expect(said).toContain('Emptying the bucket did not work: Access denied.');
  });

  it('fails when something is left, and says what, and how to remove it', async () => {
    const destroy = () => Promise.reject(new Error('Access denied.'));
    const { code, said } = await play({ cloud: () => ({ destroy, left: async () => [ITSELF, BUCKET] }) });
    expect(code).toBe(1);
    expect(said).toContain(`✗ ${STACK} is not gone.`);
    expect(said).toContain('  AWS::S3::Bucket the-bucket');
    expect(said).toContain('aws s3 rm s3://the-bucket --recursive --region eu-west-1');
    expect(said).toContain(`aws cloudformation delete-stack --stack-name ${STACK} --region eu-west-1`);
    const many = Array.from({ length: 90 }, (_, i) => ({ type: 'AWS::Logs::LogGroup', name: `log-${i}` }));
    expect((await play({ cloud: () => ({ left: async () => many }) })).said).toContain('  and 78 more');
  });

  it('fails when nobody can say what is left', async () => {
    const { code, said } = await play({
      cloud: () => ({ left: () => Promise.reject(new Error('The token is over.')) }),
    });
    expect([code, said]).toEqual([1, expect.stringContaining('could not be found out')]);
    expect(said).toContain('delete-stack');
  });

  it('is given up by another Ctrl-C, and says what is left', async () => {
    const { code, done, said } = await play({
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
    expect([code, done]).toEqual([130, [...TOLD, ...REMOVED]]);
    expect(said).toContain('is not gone');
  });
});

describe('a Ctrl-C', () => {
  it('that comes twice, by the terminal and by npm, is one', () => {
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

  it('is as good as the end of the terminal, or of the session', () => {
    for (const signal of ['SIGTERM', 'SIGHUP']) {
      const signals = new EventEmitter();
      const { stop } = interruptsOf(signals);
      signals.emit(signal);
      expect(stop.aborted).toBe(true);
    }
  });
});
