import { isDeepStrictEqual } from 'node:util';
import { type Api, runPath } from './api.ts';
import type { Script } from './script.ts';

/** A run of the agent under test, and what must come of it. */
export interface Scenario {
  readonly name: string;
  readonly script: Script;
  /** What other people and programs do meanwhile. */
  readonly act?: (run: ScenarioRun) => Promise<void>;
  readonly status: 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  readonly result?: unknown;
  /** Checks the run when it has ended. */
  readonly check?: (run: ScenarioRun) => Promise<void>;
}

/** A started run. */
interface ScenarioRun {
  readonly api: Api;
  readonly run: string;
  readonly path: string;
  /** Waits for a status of the run or of one of its children. */
  becomes(status: string, run?: string): Promise<Readonly<Record<string, unknown>>>;
}

const APPROVER = 'user:conformance';
const approval = (name: string) => ({ do: 'approval', name, approver: APPROVER }) as const;

/** Sends a request that must succeed. */
async function send({ api }: ScenarioRun, path: string, body: object): Promise<void> {
  const { status, json } = await api.post(path, body);
  if (status >= 300) throw new Error(`POST ${path} answered ${status}: ${JSON.stringify(json)}`);
}

async function decide(run: ScenarioRun, name: string, answer: 'approve' | 'reject'): Promise<void> {
  await run.becomes('WAITING_FOR_APPROVAL');
  await send(run, `${run.path}/approvals/${name}/decide`, { answer, by: APPROVER });
}

/** Fails if two values differ. */
export function expectEqual(what: string, expected: unknown, found: unknown): void {
  if (!isDeepStrictEqual(expected, found))
    throw new Error(`${what}: expected ${JSON.stringify(expected)}; found ${JSON.stringify(found)}`);
}

/** The events of a run. */
async function eventsOf({ api, path }: ScenarioRun): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return ((await api.get(`${path}/events`)).json.events ?? []) as readonly Readonly<Record<string, unknown>>[];
}

interface SavedCheckpoint {
  readonly version: number;
  readonly kind: string;
  readonly step?: string;
}

/** The checkpoints that the agent saved. */
async function checkpointsOf(run: ScenarioRun): Promise<readonly SavedCheckpoint[]> {
  const checkpoints = (await eventsOf(run)).map(({ checkpoint }) => Object(checkpoint) as SavedCheckpoint);
  return checkpoints.filter(({ kind }) => kind === 'save');
}

/** Steps are recorded once, whatever happened in between. */
const expectSteps =
  (...steps: readonly string[]) =>
  async (run: ScenarioRun) =>
    expectEqual(
      'The recorded steps',
      steps,
      (await checkpointsOf(run)).flatMap(({ step }, i, all) =>
        step === undefined || all[i - 1]?.step === step ? [] : step,
      ),
    );

const VALUES = [1, -0.5, 'ü ✓ \u0000', [], {}, { a: [null, { b: false }] }, { at: { $: ['date', 0] } }];

/** What every client must do. */
export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'records steps, with values of every kind unchanged',
    script: VALUES.map((value) => ({ do: 'step', value })),
    status: 'SUCCEEDED',
    result: VALUES,
    check: expectSteps(...VALUES.map((_, i) => `op-${i}`)),
  },
  {
    name: 'records the parameters of the model',
    script: [{ do: 'step', value: 1, model: { id: 'm-1', temperature: 0 } }],
    status: 'SUCCEEDED',
    async check(run) {
      const { api, path } = run;
      const saved = (await checkpointsOf(run)).find(({ step }) => step === 'op-0');
      const { json } = await api.get(`${path}/load?version=${saved?.version ?? 1}`);
      expectEqual('The model', { id: 'm-1', temperature: 0 }, Object(json.checkpoint).model);
    },
  },
  {
    name: 'emits events in order',
    script: [
      { do: 'emit', event: { phase: 'one' } },
      { do: 'emit', event: 'two' },
    ],
    status: 'SUCCEEDED',
    async check(run) {
      const emitted = (await eventsOf(run)).flatMap(({ type, data }) => (type === 'event' ? [data] : []));
      expectEqual('The events', [{ phase: 'one' }, 'two'], emitted);
    },
  },
  {
    name: 'waits for approvals, and resumes with each decision',
    script: [approval('first'), { do: 'step', value: 'between' }, approval('second')],
    async act(run) {
      await decide(run, 'first', 'approve');
      await until('the second approval', async () => {
        const { json } = await run.api.get(run.path);
        return JSON.stringify(json.pendingApprovals) === '["second"]';
      });
      await decide(run, 'second', 'reject');
    },
    status: 'SUCCEEDED',
    result: [true, 'between', false],
  },
  {
    name: 'receives signals that arrive before and during the wait, and notices a timeout',
    script: [
      { do: 'signal', name: 'early' },
      { do: 'signal', name: 'late' },
      { do: 'signal', name: 'never', seconds: 1 },
    ],
    async act(run) {
      await send(run, `${run.path}/signals`, { name: 'early', value: { n: 1 } });
      await run.becomes('WAITING_FOR_SIGNAL');
      await send(run, `${run.path}/signals`, { name: 'late', value: 'x' });
    },
    status: 'SUCCEEDED',
    result: [{ n: 1 }, 'x', 'timed out'],
  },
  {
    name: 'sleeps',
    script: [
      { do: 'sleep', name: 'nap', seconds: 2 },
      { do: 'step', value: 'awake' },
    ],
    status: 'SUCCEEDED',
    result: [null, 'awake'],
  },
  {
    name: 'calls child runs, and gets their results and errors',
    script: [
      { do: 'call', name: 'good', script: [{ do: 'step', value: 7 }] },
      { do: 'call', name: 'bad', script: [{ do: 'fail', message: 'No luck.' }] },
    ],
    status: 'SUCCEEDED',
    async check({ api, path }) {
      const [good, bad] = (await api.get(path)).json.result as readonly unknown[];
      expectEqual('The result of the first child', [7], good);
      expectEqual('The error of the second child', true, /^failed: .*No luck\./.test(String(bad)));
    },
  },
  {
    name: 'continues in a new invocation after it yields',
    script: [{ do: 'step', value: 1 }, { do: 'yield' }, { do: 'step', value: 2 }],
    status: 'SUCCEEDED',
    result: [1, null, 2],
    check: expectSteps('op-0', 'op-1', 'op-2'),
  },
  {
    name: 'continues after a crash, and repeats no step',
    script: [{ do: 'step', value: 1 }, { do: 'crash' }, { do: 'step', value: 2 }],
    status: 'SUCCEEDED',
    result: [1, null, 2],
    check: expectSteps('op-0', 'op-1', 'op-2'),
  },
  {
    name: 'fails with a message',
    script: [
      { do: 'step', value: 1 },
      { do: 'fail', message: 'It broke.' },
    ],
    status: 'FAILED',
    check: async ({ api, path }) =>
      expectEqual('The message', 'It broke.', Object((await api.get(path)).json.error).message),
  },
  {
    name: 'ends a run that was cancelled, and its child runs',
    script: [{ do: 'call', name: 'waits', script: [{ do: 'signal', name: 'never' }] }],
    async act(run) {
      const { children } = (await run.becomes('WAITING_FOR_SIGNAL')) as {
        children: readonly { readonly run: string }[];
      };
      await run.becomes('WAITING_FOR_SIGNAL', children[0]?.run);
      await send(run, `${run.path}/cancel`, {});
    },
    status: 'CANCELLED',
    async check(run) {
      const { json } = await run.api.get(run.path);
      for (const child of json.children as readonly { readonly run: string }[])
        await run.becomes('CANCELLED', child.run);
    },
  },
];

const POLL_MS = 100;
/** How long a run may take to get to a status. */
const PATIENCE_MS = 30_000;

/** Waits until something is true. */
async function until<T>(what: string, find: () => Promise<T | false>): Promise<T> {
  for (const last = Date.now() + PATIENCE_MS; ; ) {
    const found = await find();
    if (found !== false) return found;
    if (Date.now() > last) throw new Error(`Waited ${PATIENCE_MS / 1000} seconds for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** The status of a run, as soon as it is the expected one or the run has ended otherwise. */
export async function waitForStatus(api: Api, run: string, status: string): Promise<Readonly<Record<string, unknown>>> {
  let last = 'nothing';
  return until(`run "${run}" to be ${status}`, async () => {
    const { json } = await api.get(runPath(run));
    last = `${json.status} ${JSON.stringify(json.error ?? '')}`;
    if (json.status === status) return json;
    if (['SUCCEEDED', 'FAILED', 'CANCELLED'].includes(String(json.status)))
      throw new Error(`Run "${run}": expected ${status}; found ${last}`);
    return false;
  }).catch((error: Error) => {
    throw new Error(`${error.message}; found ${last}`);
  });
}
