import type { Hono } from 'hono';
import type { Caller } from '../http/caller.ts';
import type { ApiEnv } from '../http/request-variables.ts';
import { hasRole, INBOX_ROLES, OPERATE_ROLES } from '../http/roles.ts';
import type { Operator } from '../operator/operator.ts';
import { fragment } from './fragment.ts';
import { type Html, html } from './markup.ts';
import { PATHS } from './paths.ts';
import { authorize, htmlResponse } from './request.ts';

// Each counted approval is read, so the badge counts few.
const MAX_COUNTED = 9;

/** Registers the number of pending approvals in the caller's inbox, which the script of each page loads. */
export function inboxCountRoute(app: Hono<ApiEnv>): void {
  app.get('/inbox/count', async (context) => {
    const { caller, operator } = authorize(context, INBOX_ROLES);
    return htmlResponse(context, fragment(undefined, '', badge(caller, await countInbox(caller, operator))));
  });
}

/** Counts what the inbox shows first: the requests of everybody for operators, otherwise those of the caller. */
async function countInbox(caller: Caller, operator: Operator): Promise<number> {
  const limit = MAX_COUNTED + 1;
  if (hasRole(caller, OPERATE_ROLES)) return (await operator.pendingApprovals({ limit })).length;
  if (caller.person === undefined) return 0;
  return (await operator.inbox(caller.person, { groups: caller.groups, limit })).length;
}

/** The badge beside the link to the inbox; empty until the script has counted. */
export function badge(caller: Caller, count = 0): Html | false {
  if (!hasRole(caller, INBOX_ROLES)) return false;
  const text = count > MAX_COUNTED ? `${MAX_COUNTED}+` : count;
  return html`<span id="inbox-count" class="count" data-url="${PATHS.inbox}/count">${count > 0 && html`<span class="unseen">, pending: </span>${text}`}</span>`;
}
