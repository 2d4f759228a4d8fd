import { toOpenApi } from '../open-api.ts';
import type { Route } from '../route.ts';
import { aboutRoutes } from './about.ts';
import { APPROVAL_ROUTES } from './approvals.ts';
import { CHECKPOINT_ROUTES } from './checkpoints.ts';
import { CLAIM_ROUTES } from './claims.ts';
import { DECIDE_ALL_ROUTE } from './decide-all.ts';
import { DELEGATION_ROUTES } from './delegations.ts';
import { EVENT_ROUTES } from './events.ts';
import { LINK_ROUTES } from './links.ts';
import { PROTOCOL_ROUTES } from './protocol.ts';
import { RUN_CHANGE_ROUTES } from './run-changes.ts';
import { RUN_ROUTES } from './runs.ts';

let openApi: object | undefined;

/** Every route of approval links and API. The application and the OpenAPI document are built from this table. */
export const ROUTES: readonly Route[] = [
  ...LINK_ROUTES,
  ...aboutRoutes(() => {
    openApi ??= toOpenApi(ROUTES);
    return openApi;
  }),
  ...RUN_ROUTES,
  ...RUN_CHANGE_ROUTES,
  ...CHECKPOINT_ROUTES,
  ...EVENT_ROUTES,
  ...CLAIM_ROUTES,
  ...PROTOCOL_ROUTES,
  ...APPROVAL_ROUTES,
  ...DELEGATION_ROUTES,
  DECIDE_ALL_ROUTE,
];
