import { afterAll, beforeAll, describe } from 'vitest';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { decisionsContract } from './decisions.ts';
import { delegationContract } from './delegation.ts';
import { excludedRequesterContract } from './excluded-requester.ts';
import { notificationsContract } from './notifications.ts';
import { type ApprovalScene, type SceneOptions, sceneOn } from './scene.ts';
import { storedApprovalsContract } from './stored-approvals.ts';

export type OpenScene = (options?: SceneOptions) => Promise<ApprovalScene>;

/** The behavior of approvals on any storage. All tests share the storage; each has its own tenant. */
export function approvalsContract(name: string, openStorage: () => Promise<Storage> | Storage): void {
  describe(`approvals on ${name}`, () => {
    let storage: Storage;
    beforeAll(async () => {
      storage = await openStorage();
    });
    afterAll(() => Promise.all([storage.records.close(), storage.payloads.close()]));
    for (const contract of [
      decisionsContract,
      storedApprovalsContract,
      notificationsContract,
      excludedRequesterContract,
      delegationContract,
    ])
      contract((options) => sceneOn(storage, options));
  });
}
