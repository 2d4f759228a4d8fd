import { Hono } from 'hono';
import type { ApiEnv } from '../http/request-variables.ts';
import { DECIDE_ROLES, hasRole } from '../http/roles.ts';
import { approvalRoutes } from './approvals/routes.ts';
import { inboxCountRoute } from './inbox-count.ts';
import { PATHS } from './paths.ts';
import type { ConsoleOptions } from './request.ts';
import { runRoutes } from './run/routes.ts';
import { runsRoutes } from './runs/routes.ts';

/** Creates the console for authenticated callers. Errors propagate to the application. */
export function createConsole(options: ConsoleOptions): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.get('/', (context) => context.redirect(hasRole(context.get('caller'), DECIDE_ROLES) ? PATHS.inbox : PATHS.runs));
  inboxCountRoute(app);
  approvalRoutes(app, options);
  runsRoutes(app, options);
  runRoutes(app, options);
  return app;
}
