import type { Context } from 'hono';
import { accepts } from 'hono/accepts';

/** Whether the client prefers HTML, as browsers do. */
export const wantsPage = (context: Context): boolean =>
  accepts(context, { header: 'Accept', supports: ['application/json', 'text/html'], default: 'application/json' }) ===
  'text/html';
