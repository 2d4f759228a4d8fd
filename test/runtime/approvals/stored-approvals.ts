import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createCheckpointStore } from '../../../lambda/checkpoints/checkpoint-store.ts';
import { cipherFor } from '../../../lambda/checkpoints/encryption/cipher-for.ts';
import { payload } from '../../../lambda/checkpoints/payload.ts';
import { readLiveHead } from '../../../lambda/checkpoints/read-head.ts';
import type { Approver } from '../../../lambda/core/approval.ts';
import {
  hashContent,
  readApprovalContent,
  readContentText,
  readVotes,
} from '../../../lambda/runtime/approvals/approval-content.ts';
import { readApprovals } from '../../../lambda/runtime/approvals/approval-records.ts';
import { decide } from '../../../lambda/runtime/approvals/decide.ts';
import { inbox } from '../../../lambda/runtime/approvals/inbox.ts';
import { viewApproval } from '../../../lambda/runtime/approvals/view.ts';
import { approvalKey, inboxGroup } from '../../../lambda/storage/keys.ts';
import { keys } from '../../contract/checkpoint-store/keys.ts';
import { storedRun } from '../../contract/checkpoint-store/stored-run.ts';
import { all } from '../../contract/checkpoint-store/stores.ts';
import { DAY, HOUR } from '../../faults/clock.ts';
import { noise } from '../../faults/seeded.ts';
import { withPayloadTimes } from '../../faults/storages.ts';
import type { OpenScene } from './contract.ts';
import { sceneOn } from './scene.ts';

const ann = { by: 'user:ann', answer: 'approve' } as const;

export function storedApprovalsContract(open: OpenScene): void {
  describe('an inbox', () => {
    test('lists an approval for each of three approvers until they have voted', async () => {
      const { requestApproval, at, inbox, records, storage } = await open();
      const approvers = ['user:ann', 'user:bob', 'group:finance'] as const;
      await requestApproval('a', { approvers, quorum: 2 });
      for (const person of approvers) expect(await inbox(person)).toEqual(['a']);
      expect(await inbox('user:eve', ['group:finance'])).toEqual(['a']);
      await decide(at, { approval: 'a', ...ann });
      expect(await inbox('user:ann', ['group:finance'])).toEqual([]);
      expect((await storage.records.list('owner', inboxGroup(at.tenant, 'user:ann'))).records).toEqual([]);
      expect(await inbox('user:bob', ['group:finance'])).toEqual(['a']);
      await decide(at, { approval: 'a', by: 'user:bob', answer: 'approve' });
      for (const person of [...approvers, 'user:eve'] as const)
        expect(await inbox(person, ['group:finance'])).toEqual([]);
      expect((await records()).filter(({ key }) => key.startsWith('b'))).toEqual([]);
    });

    test('lists approvals of all runs and groups once, oldest first', async () => {
      const scene = await open();
      const second = await scene.other('run 2');
      const lists: Approver[][] = [['group:b'], ['group:a', 'user:ann'], ['user:ann'], ['group:a'], ['user:ann']];
      for (const [index, approvers] of lists.entries()) {
        const { requestApproval } = index % 2 === 0 ? scene : second;
        scene.clock.now += 1;
        await requestApproval(`${index}`, { approvers });
      }
      const groups = ['group:a', 'group:b', 'group:a'];
      expect(await scene.inbox('user:ann', groups)).toEqual(['0', '1', '2', '3', '4']);
      const listed = await all(inbox(scene.at, 'user:ann', { groups }));
      expect(listed.slice(0, 2).map(({ at, approval }) => [at.run, approval.id])).toEqual([
        ['run 1', '0'],
        ['run 2', '1'],
      ]);
      expect(await scene.inbox('user:bob')).toEqual([]);
    });

    test('leaves out approvals that have expired, were deleted or belong to another tenant', async () => {
      const { requestApproval, inbox, clock, other, storage, at } = await open();
      await requestApproval('a', { timeout: { hours: 1 } });
      const second = await other('run 2');
      // Approvals that were requested in the same millisecond are listed in any order.
      clock.now += 1;
      await second.requestApproval('b');
      expect(await inbox('user:ann')).toEqual(['a', 'b']);
      clock.now += HOUR;
      expect(await inbox('user:ann')).toEqual(['b']);
      expect(await (await sceneOn(storage, { clock })).inbox('user:ann')).toEqual([]);
      await createCheckpointStore(storage, { tenant: at.tenant, clock: clock.read }).delete('run 2');
      expect(await inbox('user:ann')).toEqual([]);
    });

    test('skips an ended approval that the index still has', async () => {
      const { requestApproval, at, storage } = await open();
      await requestApproval('a', { approvers: ['user:ann', 'user:bob'] });
      const stale = new Map<string, Awaited<ReturnType<typeof storage.records.list>>>();
      const list: typeof storage.records.list = async (name, group, options) => {
        const page = stale.get(group) ?? (await storage.records.list(name, group, options));
        stale.set(group, page);
        return page;
      };
      const behind = { ...at, records: { ...storage.records, list } };
      expect(await all(inbox(behind, 'user:bob'))).toHaveLength(1);
      await decide(at, { approval: 'a', ...ann });
      expect(await all(inbox(behind, 'user:bob'))).toEqual([]);
    });
  });

  describe('the record of an approval', () => {
    test('has the hash of the stored text, and is refused if the hash differs', async () => {
      const { requestApproval, at } = await open();
      await requestApproval('a', { show: { amount: 1 } });
      const cipher = await cipherFor(at, (await readLiveHead(at)).meta);
      const [approval] = await readApprovals(at, ['a']);
      if (!approval) throw new Error('It is not there.');
      const text = await readContentText(at, cipher, approval.stored);
      expect(JSON.parse(text)).toEqual({ title: 'Pay the invoice?', show: { amount: 1 } });
      expect(hashContent(cipher, text)).toBe(approval.meta.contentHash);
      expect(await readApprovalContent(at, cipher, approval)).toMatchObject({ show: { amount: 1 } });
      const other = { ...approval, meta: { ...approval.meta, contentHash: 'f'.repeat(64) } };
      await expect(readApprovalContent(at, cipher, other)).rejects.toMatchObject({ code: 'DAMAGED' });
    });

    test('stores a megabyte as a payload, which a collection keeps', async () => {
      const { storage, clock, ...scene } = await open();
      const timed = withPayloadTimes(storage, clock.read);
      const { requestApproval, at } = await sceneOn(timed, { tenant: scene.at.tenant, clock, run: 'large' });
      const show = { text: noise('show', 1 << 20), page: payload('a page') };
      await requestApproval('a', { show });
      clock.now += 3 * DAY;
      await decide(at, { approval: 'a', ...ann, comment: 'read it all' });
      const store = createCheckpointStore(timed, { tenant: at.tenant, clock: clock.read });
      expect(await store.collect()).toMatchObject({ payloadsRemoved: 0, failed: [] });
      const view = await viewApproval(at, 'a');
      const shown = view.show as typeof show;
      expect(shown.text).toBe(show.text);
      expect(await shown.page.text()).toBe('a page');
      expect(await storedRun(timed, at.tenant, at.run).payloads()).toHaveLength(2);
    });

    test('is unreadable without the key: request, comment and edits', async () => {
      const { requestApproval, at, records, meta } = await open({ keys });
      const secret = 'salary of Mallory';
      await requestApproval('a', { title: secret, show: secret, facts: { secret }, editable: true });
      await decide(at, { approval: 'a', ...ann, comment: `${secret} is fine`, edits: { secret } });
      for (const record of await records()) {
        expect(record.meta).not.toContain('Mallory');
        expect(Buffer.from(record.body ?? []).toString('latin1')).not.toContain('Mallory');
      }
      const view = await viewApproval(at, 'a');
      expect(view).toMatchObject({ title: secret, votes: [{ comment: `${secret} is fine`, edits: { secret } }] });
      const stored = JSON.stringify({ title: secret, show: secret, facts: { secret } });
      const plain = createHash('sha256').update(stored).digest('hex');
      expect(view.contentHash).not.toBe(plain);
      await expect(viewApproval({ ...at, keys: undefined, cache: (await open()).at.cache }, 'a')).rejects.toMatchObject(
        {
          code: 'KEY_UNAVAILABLE',
        },
      );
      // The comment of one person cannot be moved to the vote of another.
      const cipher = await cipherFor(at, (await readLiveHead(at)).meta);
      const [approval] = await readApprovals(at, ['a']);
      if (!approval) throw new Error('It is not there.');
      const moved = {
        ...(await meta('a')),
        votes: approval.meta.votes.map((vote) => ({ ...vote, by: 'user:eve' as const })),
      };
      expect(() => readVotes(at, cipher, { ...approval, meta: moved })).toThrow(
        expect.objectContaining({ code: 'DAMAGED' }),
      );
      const unsealed = { ...moved, votes: [{ ...ann, at: 1, content: '{"comment":"mine"}' }] };
      expect(() => readVotes(at, cipher, { ...approval, meta: unsealed })).toThrow('not encrypted');
    });

    test('is reported as DAMAGED if a field is malformed', async () => {
      const { requestApproval, at, storage } = await open();
      await requestApproval('a');
      const { alter, record } = storedRun(storage, at.tenant, at.run);
      const whole = (await record(approvalKey('a'))).meta;
      for (const [from, to] of [
        ['"quorum":1', '"quorum":0'],
        ['"status":"PENDING"', '"status":"APPROVED"'],
        ['"status":"PENDING"', '"status":"MAYBE"'],
        ['"votes":[]', '"votes":[{"by":"user:ann"}]'],
        ['"approvers":["user:ann"]', '"approvers":[]'],
        ['1{', '{'],
      ] as const) {
        expect(whole).toContain(from);
        await alter(approvalKey('a'), () => ({ meta: whole.replace(from, to) }));
        await expect(decide(at, { approval: 'a', ...ann })).rejects.toMatchObject({ code: 'DAMAGED' });
      }
      await alter(approvalKey('a'), () => ({ meta: whole }));
      expect((await decide(at, { approval: 'a', ...ann })).approval.meta).toMatchObject({ status: 'APPROVED' });
    });

    test.each(['../../head', 'a b', 'ä/ö 😀', '%2F', "cz'(*)", '..', 'n\u0000', '<script>'])(
      'is found under the id %j, for approvers with similar names',
      async (id) => {
        const { requestApproval, at, inbox, meta, head, clock } = await open();
        const approvers = [`user:${id}`, `group:${id}`, `user:${id} ${id}`] as const;
        await requestApproval(id, { approvers, quorum: 2 });
        clock.now += 1;
        await requestApproval(`${id} ${id}`, { approvers: ['user:x', ...approvers] });
        for (const person of approvers) expect(await inbox(person)).toEqual([id, `${id} ${id}`]);
        await decide(at, { approval: id, by: `user:${id}`, answer: 'approve' });
        await decide(at, { approval: id, by: 'user:m', groups: [`group:${id}`], answer: 'approve' });
        expect(await meta(id)).toMatchObject({ status: 'APPROVED' });
        for (const person of approvers) expect(await inbox(person)).toEqual([`${id} ${id}`]);
        expect((await head()).work?.approvals).toEqual([`${id} ${id}`]);
      },
    );

    test('can have forty approvers and twenty more by escalation', async () => {
      const { requestApproval, at, records, inbox } = await open();
      const approvers = Array.from({ length: 40 }, (_, index) => `user:${index}` as const);
      const escalateTo = Array.from({ length: 20 }, (_, index) => `group:${index}` as const);
      await requestApproval('a', { approvers, escalateTo, timeout: { hours: 1 }, onTimeout: 'escalate' });
      expect((await records()).filter(({ key }) => key.startsWith('b'))).toHaveLength(39);
      await decide(at, { approval: 'a', by: 'user:39', answer: 'reject' });
      expect((await records()).filter(({ key }) => key.startsWith('b'))).toEqual([]);
      expect(await inbox('user:0')).toEqual([]);
    });
  });
}
