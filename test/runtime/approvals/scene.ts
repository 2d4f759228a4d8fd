import { randomUUID } from 'node:crypto';
import { createCache } from '../../../lambda/checkpoints/cache.ts';
import { createCheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import type { RunContext } from '../../../lambda/checkpoints/context.ts';
import { cipherFor } from '../../../lambda/checkpoints/encryption/cipher-for.ts';
import type { KeyRing } from '../../../lambda/checkpoints/encryption/key-ring.ts';
import type { HeadMeta } from '../../../lambda/checkpoints/format/meta.ts';
import { readLiveHead } from '../../../lambda/checkpoints/read-head.ts';
import type { ApprovalMeta, ApprovalRequest, Approver } from '../../../lambda/core/approval.ts';
import { toPartition } from '../../../lambda/core/ids.ts';
import {
  type ApprovalOrigin,
  createApprovalWrites,
  readApprovals,
} from '../../../lambda/runtime/approvals/approval-records.ts';
import { inbox } from '../../../lambda/runtime/approvals/inbox.ts';
import { type ApprovalLink, createToken } from '../../../lambda/runtime/approvals/tokens.ts';
import { wakeRun } from '../../../lambda/runtime/wake/wake.ts';
import { SHARDS, shardGroup, timeOrder } from '../../../lambda/storage/keys.ts';
import type { Storage, StoredRecord } from '../../../lambda/storage/ports.ts';
import { all } from '../../contract/checkpoint-store/stores.ts';
import { type Clock, clockAt } from '../../faults/clock.ts';

/** A run that waits for approvals, with a manual clock. */
export interface ApprovalScene {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly at: RunContext;
  /** The same run in another process, optionally on another storage. */
  context(storage?: Storage): RunContext;
  /** Another run of the same tenant. */
  other(run: string): Promise<ApprovalScene>;
  requestApproval(id: string, request?: Partial<ApprovalRequest>, by?: Partial<ApprovalOrigin>): Promise<void>;
  meta(id: string): Promise<ApprovalMeta>;
  head(): Promise<HeadMeta>;
  /** The ids of the approvals in a person's inbox. */
  inbox(approver: Approver, groups?: readonly string[]): Promise<readonly string[]>;
  /** All records of the run. */
  records(): Promise<readonly StoredRecord[]>;
  /** The keys of the run's records that are due now. */
  due(): Promise<readonly string[]>;
}

/** Creates an approval link; returns its token. */
export async function linkFor(at: RunContext, link: ApprovalLink): Promise<string> {
  const { token, write } = createToken(at, link, (await readLiveHead(at)).meta.uid);
  await at.records.commit([write]);
  return token;
}

export interface SceneOptions {
  readonly tenant?: string;
  readonly run?: string;
  readonly clock?: Clock;
  readonly keys?: KeyRing;
  readonly status?: 'WAITING_FOR_APPROVAL' | 'RUNNING';
}

export async function sceneOn(storage: Storage, options: SceneOptions = {}): Promise<ApprovalScene> {
  const { tenant = `tenant ${randomUUID()}`, run = 'run 1', clock = clockAt(), keys, status } = options;
  const context = (on = storage): RunContext => ({
    ...on,
    ...{ tenant, run, partition: toPartition(tenant, run), now: clock.read, writer: 'test', types: {} },
    ...{ migrator: undefined, keys, acceptUnencrypted: false, retentionMs: undefined, cache: createCache(32) },
  });
  const at = context();
  const store = createCheckpointStore(storage, { tenant, clock: clock.read, ...(keys && { keys }) });
  await store.save({ run, status: 'RUNNING' });

  return {
    storage,
    clock,
    at,
    context,
    other: (name) => sceneOn(storage, { ...options, tenant, clock, run: name }),
    async requestApproval(id, request = {}, by = {}) {
      const cipher = await cipherFor(at, (await readLiveHead(at)).meta);
      const fields: ApprovalRequest = { title: 'Pay the invoice?', approvers: ['user:ann'], ...request };
      const writes = await createApprovalWrites(at, cipher, id, fields, { name: 'pay', requestNumber: 1, ...by });
      await wakeRun(at, async ({ meta: { work } }) => ({
        writes,
        work: { approvals: [...(work?.approvals ?? []), id] },
      }));
      for (const next of ['RUNNING', status ?? 'WAITING_FOR_APPROVAL'] as const)
        await store.save({ run, status: next, expectedVersion: await store.load(run) });
    },
    async meta(id) {
      const [approval] = await readApprovals(at, [id]);
      if (!approval) throw new Error(`There is no approval ${id}.`);
      return approval.meta;
    },
    head: async () => (await readLiveHead(at)).meta,
    inbox: async (approver, groups = []) =>
      (await all(inbox(at, approver, { groups }))).map(({ approval }) => approval.id),
    records: async () => (await storage.records.range(at.partition)).records,
    async due() {
      const found: StoredRecord[] = [];
      for (const shard of SHARDS)
        found.push(...(await storage.records.list('due', shardGroup(shard), { to: timeOrder(clock.now) })).records);
      return found.filter(({ partition }) => partition === at.partition).map(({ key }) => key);
    },
  };
}
