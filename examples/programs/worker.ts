// A durable agent: its process is killed while it waits for an approval, and it resumes in another one after the decision.
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { embeddedStorage } from '../../lambda/embedded.ts'; // users write: 'waitstate/embedded'
import { agent, runAgents } from '../../lambda/index.ts'; // users write: 'waitstate'

const [folder = mkdtempSync(join(tmpdir(), 'waitstate-refunds-')), role] = process.argv.slice(2);

interface RefundRequest {
  orderId: string;
}

const refunds = agent(
  {
    name: 'refunds',
    state: { version: 1, initial: (input: RefundRequest) => ({ order: input.orderId, paid: 0 }) },
    async run(ctx, input) {
      const order = await ctx.step('find order', () => {
        console.log(`pid ${process.pid}  looks for order ${input.orderId}`);
        return { id: input.orderId, customer: 'Ann', total: 30 };
      });
      const decision = await ctx.approval('refund', {
        title: `Refund $${order.total} to ${order.customer}?`,
        approvers: ['user:bob'],
        timeout: { days: 3 },
      });
      if (!decision.approved) return { refunded: false, reason: decision.comment };
      await ctx.step('pay', ({ idempotencyKey }) => {
        console.log(`pid ${process.pid}  pays $${order.total} under key ${idempotencyKey.slice(0, 6)}…`);
      });
      const { paid } = await ctx.update((draft) => {
        draft.paid = order.total;
      });
      return { refunded: true, paid };
    },
  },
  { storage: embeddedStorage({ folder }) },
);

if (role === 'worker') {
  runAgents([refunds]);
} else {
  const worker = () => fork(fileURLToPath(import.meta.url), [folder, 'worker']);
  const run = await refunds.start({ orderId: 'o-17' }, { id: 'refund-o-17' });
  const first = worker();
  await run.until('WAITING_FOR_APPROVAL');
  const [approval] = await run.approvals();
  console.log(`run ${run.id} is ${await run.status()}: ${approval?.title}`);
  first.kill('SIGKILL');
  console.log(`pid ${first.pid}  killed; no process runs, the run waits`);

  if (approval) await run.decide({ approval: approval.id, by: 'user:bob', answer: 'approve' });
  const second = worker();
  console.log(`result: ${JSON.stringify(await run.result({ timeout: { minutes: 1 } }))}`);
  second.kill();
  await refunds.store.close();
  rmSync(folder, { recursive: true });
}
