import { Hono } from 'hono';
import type { ApiOptions } from '../api/app.ts';
import type { ApiEnv } from '../api/environment.ts';

export type ConsoleOptions = Pick<ApiOptions, 'agents'>;

/** The pages of the console. */
export function consoleApp(_options: ConsoleOptions): Hono<ApiEnv> {
  return new Hono<ApiEnv>();
}
