import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { decompress } from '../../lambda/checkpoints/format/compression.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { approvals } from '../../lambda/runtime/agent/approvals-portal.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import type { Storage, StoredRecord } from '../../lambda/storage/ports.ts';
import { testAgents } from '../../lambda/testing.ts';
import { describeOnEachStorage, headOf } from './storages.ts';

const keys = localKeys({ current: 'k', keys: { k: new Uint8Array(32).fill(7) } });
const SECRET = 'sesame';

/** A storage that collects everything that is written to it, and searches it for the secret. */
function recordWrites(storage: Storage) {
  const written: StoredRecord[] = [];
  const payloads: { readonly id: string; readonly bytes: Uint8Array }[] = [];
  const watched: Storage = {
    records: {
      ...storage.records,
      commit: async (writes) => {
        for (const write of writes) if ('put' in write) written.push(write.put);
        await storage.records.commit(writes);
      },
    },
    payloads: {
      ...storage.payloads,
      put: async (partition, id, content) => {
        const pieces: Uint8Array[] = [];
        if (content instanceof Uint8Array) pieces.push(content);
        else for await (const piece of content) pieces.push(Uint8Array.from(piece));
        const bytes = Buffer.concat(pieces);
        payloads.push({ id, bytes });
        await storage.payloads.put(partition, id, bytes);
      },
    },
  };
  const findings = () => [
    ...written.filter(({ meta, body = new Uint8Array(), key, partition }) =>
      [meta, key, partition, ...textsIn(body)].some((text) => text.includes(SECRET)),
    ),
    ...payloads.filter(({ bytes }) => textsIn(bytes).some((text) => text.includes(SECRET))),
  ];
  return { storage: watched, findings, written, payloads };
}

/** The readable text of bytes: as they are, and decompressed if they are compressed. */
function textsIn(bytes: Uint8Array): readonly string[] {
  const plain = Buffer.from(bytes).toString('latin1');
  try {
    return [plain, decompress(bytes)];
  } catch {
    return [plain];
  }
}

const child = agent({ name: 'child', run: async (_, input: { text: string }) => `${input.text} of the child` });

const secretive = agent({
  name: 'secretive',
  state: { initial: (input: { text: string }) => ({ seen: [input.text] }) },
  async run(ctx, input) {
    const found = await ctx.step('find', () => `${SECRET} found`);
    await ctx.tool('look', { query: `${SECRET} query` }, () => `${SECRET} result`, {
      cache: { hours: 1, shared: true },
    });
    await ctx.step('fail once', ({ attempt }) => {
      if (attempt === 1) throw new Error(`${SECRET} error`);
    });
    await ctx.update((draft) => void draft.seen.push(found));
    const big = await ctx.step('big', () => ctx.payload(`${SECRET} `.repeat(40_000)));
    const decision = await ctx.approval('ask', {
      ...{ title: `${SECRET} title`, show: { text: `${SECRET} shown`, big }, approvers: ['user:ann'], editable: true },
      facts: { price: `${SECRET} price` },
      recheck: () => ({ price: `${SECRET} price` }),
    });
    const signal = await ctx.waitForSignal('go');
    const early = await ctx.waitForSignal('early');
    const called = await ctx.call(child, { text: `${SECRET} for the child` });
    if (input.text.endsWith('fail')) throw new Error(`${SECRET} failure`);
    return { found, said: decision.comment, edits: decision.edits, signal, early, called, seen: ctx.state.seen };
  },
});

describeOnEachStorage('a run with keys', (open) => {
  it('stores no readable content, and behaves like any other run', async () => {
    const { storage, findings, written, payloads } = recordWrites(await open());
    const world = testAgents(secretive, { agents: [child], storage, keys, deliverTwice: true });
    world.crash({ recorded: 'find' });
    await world.run('r').signal('early', `${SECRET} early`);
    const run = await world.start({ text: `${SECRET} input` }, { id: 'r', owner: 'ann' });
    expect(await run.approvals()).toMatchObject([{ title: `${SECRET} title`, facts: { price: `${SECRET} price` } }]);
    await run.approve('ask', { comment: `${SECRET} comment`, edits: { text: `${SECRET} edit` } });
    await run.signal('go', { text: `${SECRET} signal`, large: `${SECRET} `.repeat(20_000) });
    expect(await run.result()).toMatchObject({
      ...{ found: `${SECRET} found`, said: `${SECRET} comment`, edits: { text: `${SECRET} edit` } },
      ...{ signal: { text: `${SECRET} signal` }, early: `${SECRET} early` },
      ...{ called: `${SECRET} for the child of the child`, seen: [`${SECRET} input`, `${SECRET} found`] },
    });
    const failing = await world.start({ text: `${SECRET} input to fail` }, { id: 'failing' });
    await failing.approve('ask');
    await failing.signal('go', {});
    await failing.signal('early', '');
    await expect(failing.result()).rejects.toThrow(`${SECRET} failure`);
    await failing.retry();
    await run.rewind(3);
    await run.approve('ask');
    await run.fork({ version: 3 });
    const withdrawn = await world.start({ text: `${SECRET} input` }, { id: 'withdrawn' });
    const [pending] = await withdrawn.approvals();
    const reason = `${SECRET} reason for the withdrawal`;
    const portal = approvals({ storage, keys, clock: world.clock });
    expect(await portal.withdraw('withdrawn', pending?.id ?? '', reason)).toMatchObject({ withdrawalReason: reason });
    expect(await portal.view('withdrawn', pending?.id ?? '')).toMatchObject({ withdrawalReason: reason });
    const late = portal.decide('withdrawn', { approval: pending?.id ?? '', by: 'user:ann', answer: 'approve' });
    await expect(late).rejects.toMatchObject({ code: 'APPROVAL_WITHDRAWN', message: expect.not.stringContaining('~') });
    await run.cancel(`${SECRET} reason for the cancel`);
    expect(findings()).toEqual([]);
    expect(written.length).toBeGreaterThan(50);
    expect(payloads.length).toBeGreaterThan(3);
  });
});

// A mark in every text of a question, of its answers, and of events.
const asking = agent({
  name: 'asking',
  async run(ctx) {
    ctx.emit({ text: `${SECRET} event` });
    const asked = { approvers: ['user:ann', 'user:bob'] } as const;
    const seat = await ctx.ask('seat', {
      ...{ ...asked, title: `${SECRET} which?`, show: `${SECRET} shown`, quorum: 2 },
      choices: [{ value: `${SECRET} value`, label: `${SECRET} label`, description: `${SECRET} description` }, 'other'],
    });
    const note = await ctx.ask('note', { ...asked, title: `${SECRET} note?`, text: true });
    const form = await ctx.ask('form', {
      ...{ ...asked, title: `${SECRET} form?` },
      answer: z.object({
        name: z
          .string()
          .default(`${SECRET} default`)
          .meta({ title: `${SECRET} field`, description: `${SECRET} hint` }),
      }),
    });
    const edits = await ctx.approval('edits', {
      ...{ ...asked, title: `${SECRET} edits?` },
      editable: z.object({ amount: z.string().meta({ title: `${SECRET} amount` }) }),
    });
    await ctx.step('write', ({ emit }) => emit(`${SECRET} of a step`));
    const declined = await ctx.ask('declined', { ...asked, title: `${SECRET} declined?`, text: true });
    return [seat.answer, note.answer, form.answer, edits.edits, declined.comment];
  },
});

/** Fills in everything that people can fill in. */
async function answerAll(storage: Storage, options: { readonly keys?: typeof keys } = {}): Promise<unknown> {
  const world = testAgents(asking, { storage, ...options });
  const portal = approvals({ storage, clock: world.clock, ...options });
  const until = new Date(world.clock.now() + 60_000);
  await portal.delegate({ person: 'user:ann', delegate: 'user:cho', until });
  const run = await world.start({}, { id: 'asked' });
  await run.answer('seat', 'other', { by: 'user:bob', comment: `${SECRET} comment` });
  const value = `${SECRET} value`;
  await run.answer('seat', value, { by: 'user:cho', for: 'user:ann', comment: `${SECRET} of a delegate` });
  await run.answer('seat', value, { by: 'user:bob' });
  await run.answer('note', `${SECRET} text`);
  await run.answer('form', { name: `${SECRET} name` });
  await run.approve('edits', { edits: { amount: `${SECRET} amount` } });
  await run.reject('declined', { comment: `${SECRET} why not` });
  return run.result();
}

describe('the questions of a run with keys', () => {
  it('leave no readable text in the storage, and neither do their answers, comments and events', async () => {
    const { storage, findings } = recordWrites(memoryStorage());
    expect(await answerAll(storage, { keys })).toEqual([
      ...[`${SECRET} value`, `${SECRET} text`, { name: `${SECRET} name` }, { amount: `${SECRET} amount` }],
      `${SECRET} why not`,
    ]);
    expect(findings()).toEqual([]);
  });
});

describe('a run without keys', () => {
  it('has readable questions and answers, which shows that the search finds them', async () => {
    const { storage, findings, written } = recordWrites(memoryStorage());
    await answerAll(storage);
    const texts = findings().flatMap((each) =>
      'meta' in each ? [each.meta, ...textsIn(each.body ?? new Uint8Array())] : [],
    );
    for (const mark of [
      'label',
      'description',
      'field',
      'hint',
      'default',
      'comment',
      'of a delegate',
      'name',
      'why not',
      'event',
      'of a step',
    ])
      expect([mark, texts.some((text) => text.includes(`${SECRET} ${mark}`))]).toEqual([mark, true]);
    expect(written.length).toBeGreaterThan(20);
  });

  it('is found readable by the same search, which shows that the search works', async () => {
    const { storage, findings } = recordWrites(memoryStorage());
    const world = testAgents(secretive, { agents: [child], storage });
    await world.start({ text: `${SECRET} input` }, { id: 'r' });
    expect(findings().length).toBeGreaterThan(3);
  });
});

describe('a run whose key is unavailable', () => {
  it('is parked, and resumes when the key is available', async () => {
    const storage = memoryStorage();
    const waiting = agent({ name: 'waiting', run: (ctx) => ctx.sleep('night', { hours: 8 }) });
    await testAgents(waiting, { storage, keys }).start({}, { id: 'r' });
    const others = localKeys({ current: 'other', keys: { other: new Uint8Array(32).fill(9) } });
    const now = new Date('2026-01-01T08:00:00Z');
    const without = testAgents(waiting, { storage, keys: others, now });
    await without.settle();
    expect(without.invocations).toEqual([{ end: 'skipped', reason: 'parked' }]);
    expect((await headOf(without.agent, 'r')).work?.parkedReason).toContain('wrapped by key "k"');
    const back = testAgents(waiting, { storage, keys, now: new Date('2026-01-02T00:00:00Z') });
    await back.settle();
    expect(await back.run('r').status()).toBe('SUCCEEDED');
  });

  it('still times out', async () => {
    const storage = memoryStorage();
    const timed = agent({ name: 'timed', timeout: { hours: 1 }, run: (ctx) => ctx.waitForSignal('go') });
    await testAgents(timed, { storage, keys }).start({}, { id: 'r' });
    const others = localKeys({ current: 'other', keys: { other: new Uint8Array(32).fill(9) } });
    const without = testAgents(timed, { storage, keys: others, now: new Date('2026-01-01T02:00:00Z') });
    await without.settle();
    const back = testAgents(timed, { storage, keys, now: new Date('2026-01-02T00:00:00Z') });
    await back.settle();
    await expect(back.run('r').result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
  });
});
