import type { Telling } from '../runtime/approvals/due.ts';
import type { Notice } from '../runtime/approvals/notice.ts';
import { errorFields, type Observing } from '../runtime/telemetry.ts';
import type { AgentFunctions } from './agent-functions.ts';
import { type AgentFunction, type Agents, agentIn } from './agents.ts';
import type { Announce, Announcement } from './publish-events.ts';

/** What it takes to tell people of approvals. */
export interface TellingOptions {
  readonly agents: Agents;
  readonly functions: AgentFunctions;
  /** @default nothing is announced */
  readonly announce?: Announce | undefined;
  /** What links begin with, for agents that do not make their own. @default they get no links */
  readonly approvalUrl?: string | undefined;
  readonly observing: Observing;
}

/**
 * How people are told of the approvals of an agent in a tenant: by an event, a message, and the agent's own function, and only when all
 * of them worked are they told. Undefined when there is no way at all; then they find it in their inbox.
 */
export function tellingOf(
  { agents, functions, announce, approvalUrl, observing }: TellingOptions,
  tenant: string,
  agent: string | undefined,
): Telling | 'unknown' | undefined {
  const to = agentIn(agents, tenant, agent ?? '');
  if (!to) {
    observing.count('UnknownAgent');
    observing.log('warn', 'The function of an agent is not known, so its own way to tell people is not used.', {
      ...{ tenant, agent },
    });
  }
  // The next deployment may know it.
  if (!to && !announce) return agent === undefined ? undefined : 'unknown';
  return {
    url: to?.hydrate ? approvalUrl : undefined,
    async tell(notice) {
      const { tenant, run, approval } = notice;
      const ways = [announce?.(announcementOf(notice)), to && functions.call(to.function, noticeEvent(notice, to))];
      const failed = (await Promise.allSettled(ways)).find(({ status }) => status === 'rejected');
      observing.count(failed ? 'TellingFailed' : 'Told');
      if (failed?.status !== 'rejected') return;
      const why = errorFields(failed.reason);
      observing.log('error', 'People could not be told of an approval; it is tried again later.', {
        ...{ tenant, run, approval, agent },
        ...why,
      });
      throw failed.reason;
    },
  };
}

/** What the function of an agent is told: ours looks the approval up and makes links, others get all of it. */
const noticeEvent = (notice: Notice, { hydrate }: AgentFunction): object => {
  const { tenant, run, agent, approval } = notice;
  return hydrate ? { waitstate: 1, tenant, run, agent, notify: notice } : { tenant, run, notify: approval };
};

const TYPES = {
  asked: 'Approval Requested',
  reminder: 'Approval Reminder',
  escalation: 'Approval Escalated',
} as const satisfies Record<Notice['kind'], string>;

/** Links are for one person each, so what everybody hears has none; and of an encrypted run, nothing that is sealed. */
function announcementOf({ links: _, kind, title, isEncrypted, ...detail }: Notice): Announcement {
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
