import type { Notifier } from '../runtime/approvals/due.ts';
import type { ApprovalNotification } from '../runtime/definition/approval-notification.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import type { AgentFunctions } from './agent-functions.ts';
import { type AgentFunction, type Agents, agentFunctionFor } from './agents.ts';
import type { PublishEvent, PublishedEvent } from './publish-events.ts';

/** What it takes to tell people of approvals. */
export interface NotifierOptions {
  readonly agents: Agents;
  readonly functions: AgentFunctions;
  /** @default nothing is announced */
  readonly publish?: PublishEvent | undefined;
  /** What links begin with, for agents that do not make their own. @default they get no links */
  readonly approvalUrl?: string | undefined;
  readonly telemetry: Telemetry;
}

/**
 * How people are told of the approvals of an agent in a tenant: by an event, a message, and the agent's own function, and only when all
 * of them worked are they told. Undefined when there is no way at all; then they find it in their inbox.
 */
export function notifierFor(
  { agents, functions, publish: announce, approvalUrl, telemetry }: NotifierOptions,
  tenant: string,
  agent: string | undefined,
): Notifier | 'unknown' | undefined {
  const to = agentFunctionFor(agents, tenant, agent ?? '');
  if (!to) {
    telemetry.count('UnknownAgent');
    telemetry.log('warn', 'The function of an agent is not known, so its own way to tell people is not used.', {
      ...{ tenant, agent },
    });
  }
  // The next deployment may know it.
  if (!to && !announce) return agent === undefined ? undefined : 'unknown';
  return {
    url: to?.hydrate ? approvalUrl : undefined,
    async notify(notice) {
      const { tenant, run, approval } = notice;
      const ways = [
        announce?.(announcementOf(notice)),
        to && functions.invokeAndWait(to.function, noticeEvent(notice, to)),
      ];
      const failed = (await Promise.allSettled(ways)).find(({ status }) => status === 'rejected');
      telemetry.count(failed ? 'NotificationFailed' : 'Notified');
      if (failed?.status !== 'rejected') return;
      const why = errorFields(failed.reason);
      telemetry.log('error', 'People could not be told of an approval; it is tried again later.', {
        ...{ tenant, run, approval, agent },
        ...why,
      });
      throw failed.reason;
    },
  };
}

/** What the function of an agent is told: ours looks the approval up and makes links, others get all of it. */
const noticeEvent = (notice: ApprovalNotification, { hydrate }: AgentFunction): object => {
  const { tenant, run, agent, approval } = notice;
  return hydrate ? { waitstate: 1, tenant, run, agent, notify: notice } : { tenant, run, notify: approval };
};

const TYPES = {
  asked: 'Approval Requested',
  reminder: 'Approval Reminder',
  escalation: 'Approval Escalated',
} as const satisfies Record<ApprovalNotification['kind'], string>;

/** Links are for one person each, so what everybody hears has none; and of an encrypted run, nothing that is sealed. */
function announcementOf({ links: _, kind, title, isEncrypted, ...detail }: ApprovalNotification): PublishedEvent {
  const type = TYPES[kind];
  const { deadline, run, approval, name } = detail;
  const until = deadline ? ` Until ${deadline.toISOString()}.` : '';
  const question = isEncrypted ? name : title;
  return {
    type,
    detail: isEncrypted ? detail : { ...detail, title },
    text: { subject: `${type}: ${question}`, message: `${question}\n\nApproval ${approval} of run ${run}.${until}` },
  };
}
