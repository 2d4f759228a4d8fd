import type { Hono } from 'hono';
import type { Observing } from '../handlers/observing.ts';
import type { SignedUrls } from '../handlers/signed-urls.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Identify } from './caller.ts';

/** An agent that can be started, as the console offers it. */
export interface KnownAgent {
  readonly name: string;
  /** An input to begin with, shown in the form. */
  readonly example?: unknown;
  readonly description?: string;
}

/** What the application stands on. */
export interface ApiOptions {
  /** Of any tenant: each request is answered in that of its caller. */
  readonly runtime: Runtime;
  readonly identify: Identify;
  /** For payloads that are too large for an answer of Lambda. @default they are streamed */
  readonly signedUrls?: SignedUrls | undefined;
  readonly observing: Pick<Observing, 'log' | 'count'>;
  /** @default none are offered; any can be started by name */
  readonly agents?: () => Promise<readonly KnownAgent[]>;
}

/** The HTTP application: webhook, API and console, for API Gateway and for one machine alike. */
export declare function createApi(options: ApiOptions): Hono;
