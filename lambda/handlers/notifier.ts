import type { Notifier } from '../runtime/approvals/due.ts';
import type { ApprovalNotification } from '../runtime/definition/approval-notification.ts';
import { errorFields, type Telemetry } from '../runtime/telemetry.ts';
import type { AgentFunctions } from './agent-functions.ts';
import { type Agents, type AgentTarget, agentFor } from './agents.ts';
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
  const target = agentFor(agents, tenant, agent ?? '');
  if (!target) {
    telemetry.count('UnknownAgent');
    telemetry.log('warn', 'The function of an agent is unknown, so its notify hook is not called.', { tenant, agent });
  }
  if (!target && !publish) return agent === undefined ? undefined : 'unknown';
  const functionName = target && ('worker' in target ? target.notify : target.function);
  if (functionName === undefined && !publish) return undefined;
  return {
    url: target && functionName !== undefined && !createsLinks(target) ? approvalUrl : undefined,
    async notify(notification) {
      const { tenant, run, approval } = notification;
      const deliveries = [
        publish?.(toPublishedEvent(notification)),
        target &&
          functionName !== undefined &&
          functions.invokeAndWait(functionName, notificationEvent(notification, target)),
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

/** Whether the function of an agent is `agent.handler()`, which creates the approval links itself. */
const createsLinks = (target: AgentTarget): boolean => 'function' in target && !target.hydrate;

/** The event for a function. `agent.handler()` loads the approval by id; other languages get all of it. */
const notificationEvent = (notification: ApprovalNotification, target: AgentTarget): object => {
  const { tenant, run, agent, approval } = notification;
  return createsLinks(target)
    ? { tenant, run, notify: approval }
    : { waitstate: 1, tenant, run, agent, notify: notification };
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
  const { deadline, run, approval, name, isQuestion } = detail;
  const noun = isQuestion ? 'Question' : 'Approval';
  const until = deadline ? ` Until ${deadline.toISOString()}.` : '';
  const label = isEncrypted ? name : title;
  return {
    type,
    detail: isEncrypted ? detail : { ...detail, title },
    text: {
      subject: `${type.replace('Approval', noun)}: ${label}`,
      message: `${label}\n\n${noun} ${approval} of run ${run}.${until}`,
    },
  };
}
