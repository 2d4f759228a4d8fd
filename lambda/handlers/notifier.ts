import type { Notifier } from '../runtime/approvals/due.ts';
import type { ApprovalNotification } from '../runtime/definition/approval-notification.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import type { AgentFunctions } from './agent-functions.ts';
import { type AgentFunction, type Agents, agentFunctionFor } from './agents.ts';
import type { PublishEvent, PublishedEvent } from './publish-events.ts';

/** The dependencies of `notifierFor`. */
export interface NotifierOptions {
  readonly agents: Agents;
  readonly functions: AgentFunctions;
  /** @default no events are published */
  readonly publish?: PublishEvent | undefined;
  /** The base URL of approval links for agents that create none themselves. @default no links */
  readonly approvalUrl?: string | undefined;
  readonly telemetry: Telemetry;
}

/**
 * Creates the notifier for approvals of an agent in a tenant. It publishes an event, sends a message and invokes the
 * agent's function; the notification succeeds only if all of them do. Returns undefined if there is no channel, so that
 * approvers find the request only in their inbox, and 'unknown' if the next deployment may add the agent.
 */
export function notifierFor(
  { agents, functions, publish, approvalUrl, telemetry }: NotifierOptions,
  tenant: string,
  agent: string | undefined,
): Notifier | 'unknown' | undefined {
  const target = agentFunctionFor(agents, tenant, agent ?? '');
  if (!target) {
    telemetry.count('UnknownAgent');
    telemetry.log('warn', 'The function of an agent is unknown, so its notify hook is not called.', { tenant, agent });
  }
  if (!target && !publish) return agent === undefined ? undefined : 'unknown';
  return {
    url: target?.hydrate ? approvalUrl : undefined,
    async notify(notification) {
      const { tenant, run, approval } = notification;
      const deliveries = [
        publish?.(toPublishedEvent(notification)),
        target && functions.invokeAndWait(target.function, notificationEvent(notification, target)),
      ];
      const failed = (await Promise.allSettled(deliveries)).find(({ status }) => status === 'rejected');
      telemetry.count(failed ? 'NotificationFailed' : 'Notified');
      if (failed?.status !== 'rejected') return;
      telemetry.log('error', 'A notification about an approval could not be sent. It is retried later.', {
        tenant,
        run,
        approval,
        agent,
        ...errorFields(failed.reason),
      });
      throw failed.reason;
    },
  };
}

/** The event for the agent's function. `agent.handler()` loads the approval by id; other languages get all of it. */
const notificationEvent = (notification: ApprovalNotification, { hydrate }: AgentFunction): object => {
  const { tenant, run, agent, approval } = notification;
  return hydrate ? { waitstate: 1, tenant, run, agent, notify: notification } : { tenant, run, notify: approval };
};

const EVENT_TYPES = {
  requested: 'Approval Requested',
  proposed: 'Approval Changed',
  reminder: 'Approval Reminder',
  escalated: 'Approval Escalated',
} as const satisfies Record<ApprovalNotification['kind'], string>;

/** The public event. It has no links, since each is for one person, and for an encrypted run not even the title. */
function toPublishedEvent({
  links: _links,
  kind,
  title,
  isEncrypted,
  ...detail
}: ApprovalNotification): PublishedEvent {
  const type = EVENT_TYPES[kind];
  const { deadline, run, approval, name } = detail;
  const until = deadline ? ` Until ${deadline.toISOString()}.` : '';
  const label = isEncrypted ? name : title;
  return {
    type,
    detail: isEncrypted ? detail : { ...detail, title },
    text: { subject: `${type}: ${label}`, message: `${label}\n\nApproval ${approval} of run ${run}.${until}` },
  };
}
