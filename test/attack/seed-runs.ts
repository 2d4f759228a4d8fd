import { createCheckpointStore } from '../../lambda/checkpoints/checkpoint-store.ts';
import { toRunContext } from '../../lambda/checkpoints/derived-contexts.ts';
import { agent, payload } from '../../lambda/index.ts';
import type { Operator } from '../../lambda/operator/operator.ts';
import type { AgentOptions } from '../../lambda/runtime/agent/agent-options.ts';
import type { Clock } from '../../lambda/runtime/clock.ts';
import { claimRun } from '../../lambda/runtime/remote/claim-run.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { linkFor } from '../runtime/approvals/scene.ts';

interface Trip {
  readonly text?: unknown;
  readonly fails?: unknown;
}

const textIn = (input: Trip | null): string => (typeof input?.text === 'string' ? input.text.slice(0, 100) : 'nothing');

/** An agent that writes its text to everything that an agent can write to. */
export const trips = agent({
  name: 'trips',
  state: { initial: (input: Trip | null) => ({ note: textIn(input), seen: [] as string[] }) },
  async run(ctx, input) {
    const text = textIn(input);
    await ctx.step(`search ${text}`, () => ({ fare: 12, text }), { model: { prompt: text } });
    const shot = payload(Buffer.from(`\x89PNG ${text}`, 'latin1'), { type: 'image/png' });
    await ctx.update((draft) => {
      draft.seen.push(text);
      Object.assign(draft, { shot });
    });
    await ctx.checkpoint('begin');
    if (input?.fails === true)
      await ctx.step('break', () => Promise.reject(withoutStack(`broken ${text}`)), { retry: { maxAttempts: 1 } });
    const { approved, comment, edits } = await ctx.approval('book', {
      title: `Book ${text}?`,
      show: { text, shot, page: payload(`<script>${text}</script>`, { type: 'text/html' }) },
      facts: { text },
      approvers: ['user:ann', 'user:bob', 'group:desk'],
      timeout: { days: 1 },
      editable: true,
    });
    if (!approved) return { comment };
    return { seat: await ctx.waitForSignal('seat'), edits, text };
  },
});

// Saved through the store, without the runtime.
const PLAIN = ['plain 1', 'plain 2', 'plain 3', 'plain 4', 'plain 5'];
const approvalOptions = { approvers: ['user:ann'], escalateTo: ['user:bob'], title: 'Go?' };

/** An error without a stack trace: a recorded stack would look like a leak of the application's own files. */
const withoutStack = (message: string): Error => Object.assign(new Error(message), { stack: message });

export interface SeedOptions {
  readonly tenant: string;
  /** The prefix of run ids. */
  readonly prefix: string;
  readonly words: (what: string) => string;
}

interface SeedScene {
  readonly agentOptions: AgentOptions;
  readonly clock: Clock;
  readonly operator: (tenant: string) => Operator;
  readonly settle: () => Promise<void>;
}

/** The runs of a tenant, with their payloads, tokens and cursors. */
export interface SeededRuns {
  readonly runs: readonly string[];
  /** The payloads of newest checkpoints, and those that approvals show. */
  readonly payloads: readonly string[];
  readonly shownPayloads: readonly string[];
  /** Sets of parameter values that belong together. */
  readonly samples: readonly Readonly<Record<string, unknown>>[];
  readonly tokens: readonly string[];
  /** Hashes of the content that approvals show. */
  readonly contentHashes: readonly string[];
  readonly cursors: readonly string[];
  /** Reads everything that an operator can see of the runs. */
  readAll(operator: Operator): Promise<unknown>;
}

/** Creates runs of all kinds for a tenant, with its own words in every text. */
export async function seedRuns(scene: SeedScene, { tenant, prefix, words }: SeedOptions): Promise<SeededRuns> {
  const { agentOptions, clock, settle } = scene;
  const operator = scene.operator(tenant);
  const storage = agentOptions.storage as Storage;
  const own = trips.with({ ...agentOptions, tenant });
  const store = createCheckpointStore(storage, { tenant, clock: () => clock.now() });
  const id = (kind: string) => `${prefix}-${kind}`;
  const start = async (kind: string, input: Trip = { text: words('text') }) => {
    await own.start(input, { id: id(kind), owner: words('owner'), tags: [words('tag'), 'all'] });
    await settle();
    return id(kind);
  };
  const answer = async (kind: string, decision: 'approve' | 'reject') => {
    const said = { comment: words('comment'), edits: { to: words('edits') } };
    await operator.decide(id(kind), { approval: 'book', answer: decision, by: 'user:bob', ...said });
    await settle();
  };

  for (const kind of ['asks', 'asks too', 'odd/ü~', 'signal', 'done', 'rejected', 'cancelled', 'withdrawn'])
    await start(kind);
  await start('failed', { text: words('failure'), fails: true });
  for (const kind of ['signal', 'done']) await answer(kind, 'approve');
  await operator.signal(id('done'), { name: 'seat', value: words('signal') });
  await answer('rejected', 'reject');
  await operator.cancel(id('cancelled'), words('reason'));
  await operator.withdraw(id('withdrawn'), 'book', words('why'));
  await settle();
  await operator.fork(id('done'), { id: id('fork') });
  await settle();
  await operator.start({ agent: 'elsewhere', id: id('ready'), input: { text: words('input') } });
  await operator.start({ agent: 'worked', id: id('leased') });
  const worked = toRunContext(await own.runtime.contexts.forTenant(), tenant, id('leased'));
  await claimRun(worked, 'worked', { by: `${prefix} lease`, leaseMs: 900_000 });
  const plain = await store.save({
    run: id('plain'),
    name: 'begin',
    step: words('step'),
    labels: { why: words('label') },
    owner: words('owner'),
    state: { text: words('state'), shot: payload(words('bytes')) },
    toolResults: { call: words('result') },
  });
  await store.save({ run: id('plain'), state: { text: words('state 2') }, expectedVersion: plain });
  for (const kind of PLAIN) await store.save({ run: id(kind), state: { text: words('state') } });
  await store.save({ run: id('deleted'), state: words('deleted') });
  await store.delete(id('deleted'));

  const kinds = [
    ...PLAIN,
    ...'asks,asks too,odd/ü~,signal,done,rejected,cancelled,withdrawn,failed,fork,ready,leased,plain'.split(','),
  ];
  const runs = kinds.map(id);
  const link = async (run: string) => {
    const at = await own.runtime.contexts.forRun(run);
    return linkFor(at, { tenant, run, approval: 'book', person: 'user:ann', expiresAt: clock.now() + 7 * 86_400_000 });
  };
  const { payloads } = await operator.checkpoint(id('asks too'));
  const shown = await operator.approval(id('asks'), 'book');
  const { cursor } = await operator.runs({ limit: 1 });
  const tokens = await Promise.all(['asks', 'asks too', 'signal', 'withdrawn'].map((kind) => link(id(kind))));
  const [ofState = '', ofShow = ''] = [payloads[0]?.id, payloadIdsIn(shown.show)[0]];
  const approval = { approval: 'book', by: 'user:ann', groups: [], answer: 'approve', contentHash: shown.contentHash };
  return {
    runs: [...runs, id('deleted')],
    payloads: payloads.map((ref) => ref.id),
    shownPayloads: payloadIdsIn(shown.show),
    tokens,
    samples: [
      { run: id('asks'), token: tokens[0], ...approval, payload: ofShow, version: 2, before: '1', after: 'latest' },
      { run: id('asks too'), token: tokens[1], ...approval, version: 'latest', payload: ofState },
      { run: id('leased'), lease: `${prefix} lease` },
      { run: id('failed'), version: 'latest', approvers: ['user:ann'] },
      ...PLAIN.map((kind) => ({ run: id(kind), 'if-match': '"1"', version: 1, ...approvalOptions })),
    ],
    contentHashes: [shown.contentHash],
    cursors: cursor === undefined ? [] : [cursor],
    readAll: async (of) =>
      Promise.all(
        runs.map(async (run) => ({
          run: await of.run(run),
          history: await of.history(run),
          approvals: await of.approvals(run),
          newest: await of.checkpoint(run),
          verified: await store.verify(run),
        })),
      ),
  };
}

/** The ids of the payloads that a document refers to. */
const payloadIdsIn = (doc: unknown): readonly string[] =>
  [...JSON.stringify(doc ?? null).matchAll(/\["payload","([^"]+)"/g)].map(([, id = '']) => id);
