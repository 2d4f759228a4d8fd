import type { Runtime } from '../runtime/runtime.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { Identify } from './caller.ts';

/** An agent that can be started, as the console offers it. */
export interface KnownAgent {
  readonly name: string;
  /** An input to begin with, shown in the form. */
  readonly example?: unknown;
  readonly description?: string;
  /** The only tenants in which it can be started. @default any */
  readonly tenants?: readonly string[];
}

/** What the application stands on. */
export interface AppOptions {
  /** Of any tenant: each request is answered in that of its caller. */
  readonly runtime: Runtime;
  readonly identify: Identify;
  /** For payloads that are too large for an answer of Lambda. @default they are streamed */
  readonly signedUrls?: SignedUrls | undefined;
  readonly telemetry: Pick<Telemetry, 'log' | 'count'>;
  /** The agents that are here; others are refused. @default none are offered; any can be started by name */
  readonly agents?: () => Promise<readonly KnownAgent[]>;
  /** The origins of other sites whose pages may call the API, but not the console. @default none */
  readonly corsOrigins?: readonly string[];
}
