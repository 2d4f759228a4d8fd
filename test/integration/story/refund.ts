import { Approval, Approvals } from '../../../lambda/api/schemas/approvals.ts';
import { CheckpointsPage } from '../../../lambda/api/schemas/checkpoints.ts';
import { Cancelled } from '../../../lambda/api/schemas/runs.ts';
import { type Check, expectEqual, expectStatus, read, type Scene } from './check.ts';
import { start, waitForStatus } from './runs.ts';

const INPUT = { order: 'o-17', reason: 'The left side is silent.' };
const FINANCE = { groups: ['group:finance'] };

export const REFUND: Check = {
  name: 'a refund waits until two people approve it, and is paid once',
  async run(scene) {
    const run = 'integ-refund';
    await start(scene, run, 'refunds', INPUT);
    await waitForStatus(scene, run, 'WAITING_FOR_APPROVAL');
    const [approval, ...more] = await approvalsOf(scene, run);
    expectEqual('The approval request', [approval?.status, approval?.quorum, more.length], ['PENDING', 2, 0]);

    const decide = (body: object) => scene.api('POST', `/api/runs/${run}/approvals/${approval?.id}/decide`, { body });
    expectStatus(await decide({ answer: 'approve', by: 'user:eve' }), 403);
    const first = read(await decide({ answer: 'approve', by: 'user:ann', ...FINANCE }), 200, Approval);
    expectEqual('The status after one of two votes', first.status, 'PENDING');
    await waitForStatus(scene, run, 'WAITING_FOR_APPROVAL', 0);
    const second = read(await decide({ answer: 'approve', by: 'user:bob', ...FINANCE }), 200, Approval);
    expectEqual('The status after both votes', second.status, 'APPROVED');

    const { result } = await waitForStatus(scene, run, 'SUCCEEDED');
    expectEqual('The result', result, { refunded: true, paid: 80, approvedBy: ['user:ann', 'user:bob'] });
    const page = await scene.api('GET', `/api/runs/${run}/checkpoints?limit=1000`);
    const { checkpoints } = read(page, 200, CheckpointsPage);
    const paid = checkpoints.filter(({ kind, step }) => kind === 'save' && step === 'pay');
    expectEqual('The number of records of the step "pay"', paid.length, 1);
    expectStatus(await decide({ answer: 'reject', by: 'user:bob', ...FINANCE }), 409);
  },
};

export const CANCEL: Check = {
  name: 'a cancelled run ends, and its approval is withdrawn',
  async run(scene) {
    const run = 'integ-cancel';
    await start(scene, run, 'refunds', INPUT);
    await waitForStatus(scene, run, 'WAITING_FOR_APPROVAL');
    const cancelled = await scene.api('POST', `/api/runs/${run}/cancel`, { body: { reason: 'This was a test.' } });
    expectEqual('The status', read(cancelled, 200, Cancelled).status, 'CANCELLED');
    const [approval] = await approvalsOf(scene, run);
    expectEqual('The status of its approval', approval?.status, 'WITHDRAWN');
  },
};

const approvalsOf = async ({ api }: Scene, run: string) =>
  read(await api('GET', `/api/runs/${run}/approvals`), 200, Approvals).approvals;
