import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** Whether somebody looks at this in a browser. */
export const wantsPage = (context: Context): boolean =>
  accepts(context, { header: 'Accept', supports: ['application/json', 'text/html'], default: 'application/json' }) ===
  'text/html';
