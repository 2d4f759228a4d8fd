import { Hono } from 'hono';
import type { ApiEnv } from '../api/environment.ts';
import { approvalRoutes } from './approvals/routes.ts';
import { PATHS } from './paths.ts';
import type { ConsoleOptions } from './request.ts';
import { maySee } from './rights.ts';
import { runRoutes } from './run/routes.ts';
import { runsRoutes } from './runs/routes.ts';

/** The pages of the console, for callers who are known; what goes wrong in them is for the application to answer. */
export function consoleApp(options: ConsoleOptions): Hono<ApiEnv> {
  const app = new Hono<ApiEnv>();
  app.get('/', (context) => {
    const { roles } = context.get('caller');
    return context.redirect(roles.has('approver') || !maySee(context.get('caller')) ? PATHS.inbox : PATHS.runs);
  });
  approvalRoutes(app, options);
  runsRoutes(app, options);
  runRoutes(app, options);
  return app;
}
