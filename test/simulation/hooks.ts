import { toPartition } from '../../lambda/core/ids.ts';
import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import { approvalKey } from '../../lambda/storage/keys.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

export const APPROVAL_URL = 'https://approvals.test/';

/** The hooks of an agent in one process: they list the members of groups and send links by mail, slowly or not at all. */
export function hooksIn(world: World, process: Process, agent: string) {
  const { chance, ledger, groups } = world;
  const takeTime = (milliseconds: number) => process.clock.sleep(chance.between(1, milliseconds));
  const members = async (group: string) => {
    await takeTime(500);
    const listed = groups.list(group);
    world.note(process, `lists ${group}: ${listed.join(', ')}`);
    ledger.listed.set(process.name, { ...ledger.listed.get(process.name), [group]: listed });
    return listed;
  };
  const notify = async (notification: ApprovalNotification) => {
    const { tenant, run, approval, kind, links } = notification;
    const fails = world.faults.losesMail();
    const isDelivered = !fails || chance.happens(0.5);
    await takeTime(1_000);
    const what = `notifies (${kind}) ${links.map(({ person }) => person).join(', ')} of ${approval} of ${run}`;
    world.note(process, what, fails ? (isDelivered ? 'response lost' : 'fails') : undefined);
    if (isDelivered) {
      if (!(await world.truth.find(toPartition(tenant, run), approvalKey(approval))))
        world.addFinding(`a notification was sent for ${approval} of run ${run}, which is not stored`);
      for (const { person, url } of links)
        ledger.links.set(`${run} ${approval} ${person}`, url.slice(APPROVAL_URL.length));
      world.onNotified(notification);
    }
    // Some people read their mail before the mail server responds.
    await takeTime(chance.happens(0.2) ? 20_000 : 1_000);
    if (fails) throw new MailError('The mail server did not respond, as the simulation wanted.');
    world.notifications.sent(process, notification);
  };
  return { notify, ...(world.listsMembers.has(agent) && { members }) };
}

/** A mail server failed, which is not a problem of the runtime. */
export class MailError extends Error {}
