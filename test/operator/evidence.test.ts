import { describe, expect, it } from 'vitest';
import { withTenant } from '../../lambda/checkpoints/derived-contexts.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { sealOf } from '../../lambda/operator/evidence/evidence.ts';
import { MAX_EVIDENCE_CHARACTERS, verifyEvidence } from '../../lambda/operator/evidence/verify-evidence.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { testAgents } from '../../lambda/testing.ts';

const refunds = agent({
  name: 'refunds',
  async run(ctx) {
    const amount = await ctx.step('look up', () => 640);
    await ctx.approval('refund', {
      title: `Refund ${amount}?`,
      show: { amount, at: new Date(0) },
      facts: { balance: 900 },
      approvers: ['user:ann', 'group:finance'],
      quorum: 2,
      editable: true,
    });
    await ctx.step('pay', () => 'paid');
  },
});

async function decided(options: Parameters<typeof testAgents>[1] = {}) {
  const world = testAgents(refunds, options);
  const run = await world.start({}, { id: 'refund-1' });
  await run.approve('refund', { by: 'user:ann', comment: 'The parcel never arrived.' });
  await run.approve('refund', { by: 'user:cho', groups: ['group:finance'], edits: { amount: 600 } });
  await run.approve('refund', { by: 'user:ann' });
  return { world, operator: createOperator(world.agent.runtime) };
}

type Leaf = { readonly path: readonly string[]; readonly value: unknown };

function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  if (typeof value !== 'object' || value === null) return [{ path, value }];
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]));
}

/** A copy in which one leaf has another value, or is missing. */
function changed(bundle: unknown, path: readonly string[], change: (value: unknown) => unknown): unknown {
  const copy = structuredClone(bundle);
  const parent = path.slice(0, -1).reduce((at: never, name) => at[name], copy as never) as Record<string, unknown>;
  const name = String(path.at(-1));
  const next = change(parent[name]);
  if (next === undefined && !Array.isArray(parent)) delete parent[name];
  else parent[name] = next;
  return copy;
}

const other = (value: unknown): unknown =>
  typeof value === 'string' ? `${value}x` : typeof value === 'number' ? value + 1 : !value;

/** Whether a check refuses the text, or finds a problem. */
function isFound(bundle: unknown): boolean {
  try {
    return !verifyEvidence(JSON.stringify(bundle)).ok;
  } catch {
    return true;
  }
}

describe('the evidence of an approval', () => {
  it('has what was shown, who decided what as whom, and linked checkpoints; it is checked without a storage', async () => {
    const { operator } = await decided();
    const evidence = await operator.evidence('refund-1', 'refund');
    expect(evidence).toMatchObject({
      run: 'refund-1',
      approval: 'refund',
      agent: 'refunds',
      encrypted: false,
      shown: { document: { title: 'Refund 640?' } },
      request: { status: 'APPROVED', quorum: 2 },
      votes: [
        { by: 'user:ann', through: 'user:ann', answer: 'approve', comment: 'The parcel never arrived.' },
        { by: 'user:cho', as: 'group:finance', through: 'group:finance', answer: 'approve', edits: { amount: 600 } },
        { by: 'user:ann', through: 'user:ann', answer: 'approve', proposal: expect.any(String) },
      ],
    });
    expect(evidence.checkpoints.map(({ step }) => step)).toContain('refund');
    expect(evidence.doesNotProve.join(' ')).toContain('hashes without a key reveal damage, but not an attacker');
    expect(verifyEvidence(JSON.stringify(evidence))).toMatchObject({ ok: true, problems: [] });
  });

  it('shows every change of every field', async () => {
    const { operator } = await decided();
    const evidence = await operator.evidence('refund-1', 'refund');
    const leaves = leavesOf(evidence);
    expect(leaves.length).toBeGreaterThan(50);
    const unfound = leaves.flatMap(({ path }) =>
      [other, () => undefined].filter((change) => !isFound(changed(evidence, path, change))).map(() => path.join('.')),
    );
    expect(unfound).toEqual([]);
  });

  it('shows changes of what was shown and of checkpoints even with a new seal', async () => {
    const { operator } = await decided();
    const evidence = await operator.evidence('refund-1', 'refund');
    const covered = leavesOf(evidence).filter(({ path: [first] }) => first === 'shown' || first === 'checkpoints');
    const unfound = covered.filter(({ path }) => {
      const forged = changed(evidence, path, other) as Record<string, unknown>;
      return !isFound({ ...forged, seal: sealOf(forged) });
    });
    expect(unfound.map(({ path }) => path.join('.'))).toEqual([]);
  });

  it('refuses a file that is cut off, malformed, of another format or too large, with a clear error', async () => {
    const { operator } = await decided();
    const text = JSON.stringify(await operator.evidence('refund-1', 'refund'));
    const invalid = (message: string) =>
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) });
    const check = (given: string) => () => verifyEvidence(given);
    for (const length of [0, 1, text.length >> 1, text.length - 1])
      expect(check(text.slice(0, length))).toThrow(invalid('cut off or malformed'));
    for (const given of ['null', '[]', '{}', '"x"']) expect(check(given)).toThrow(invalid('format'));
    expect(check('{"format":"waitstate-evidence/1"}')).toThrow(invalid('valid field'));
    expect(check(' '.repeat(MAX_EVIDENCE_CHARACTERS + 1))).toThrow(invalid('characters'));
  });

  it('is not available for the approval of another tenant, or one that does not exist', async () => {
    const { world, operator } = await decided();
    const { runtime } = world.agent;
    const stranger = createOperator({ ...runtime, contexts: withTenant(runtime.contexts, 'other') });
    const missing = { code: 'APPROVAL_NOT_FOUND' };
    await expect(stranger.evidence('refund-1', 'refund')).rejects.toMatchObject(missing);
    await expect(operator.evidence('refund-1', 'other')).rejects.toMatchObject(missing);
  });

  it('needs the key of an encrypted run, has its decrypted content, and says what is authenticated', async () => {
    const keysOf = (name: string, byte: number) =>
      localKeys({ current: name, keys: { [name]: new Uint8Array(32).fill(byte) } });
    const storage = memoryStorage();
    const { world, operator } = await decided({ storage, keys: keysOf('k', 7) });
    const evidence = await operator.evidence('refund-1', 'refund');
    expect(evidence).toMatchObject({ encrypted: true, shown: { document: { title: 'Refund 640?' } } });
    expect(evidence.shown.contentHash).not.toBe(evidence.shown.sha256);
    expect(evidence.votes[0]).toMatchObject({ comment: 'The parcel never arrived.' });
    expect(evidence.doesNotProve.join(' ')).toContain('nor authenticated');
    expect(verifyEvidence(JSON.stringify(evidence))).toMatchObject({ ok: true });
    const now = new Date(world.clock.now());
    const without = testAgents(refunds, { storage, keys: keysOf('other', 9), now });
    await expect(createOperator(without.agent.runtime).evidence('refund-1', 'refund')).rejects.toMatchObject({
      code: 'KEY_UNAVAILABLE',
    });
  });

  it('has the answers to a question, and for whom a delegate answered', async () => {
    const storage = memoryStorage();
    const asks = agent({
      name: 'asks',
      run: (ctx) => ctx.ask('seat', { title: 'Which seat?', approvers: ['user:ann'], choices: ['window', 'aisle'] }),
    });
    const world = testAgents(asks, { storage });
    const operator = createOperator(world.agent.runtime);
    const until = new Date(world.clock.now() + 60_000);
    await operator.delegate({ person: 'user:ann', delegate: 'user:cho', until });
    const run = await world.start({}, { id: 'trip' });
    await run.answer('seat', 'aisle', { by: 'user:cho' });
    const bundle = await operator.evidence('trip', 'seat');
    expect(bundle.votes).toMatchObject([{ by: 'user:cho', for: 'user:ann', through: 'user:ann', value: 'aisle' }]);
    expect(bundle.shown.text).toContain('window');
    expect(verifyEvidence(JSON.stringify(bundle)).ok).toBe(true);
  });
});
