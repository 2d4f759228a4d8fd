import type { Runtime } from '../runtime/runtime.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { SignedUrls } from '../storage/ports.ts';
import type { Identify } from './caller.ts';

/** An agent that callers can start, with what the console shows about it. */
export interface KnownAgent {
  readonly name: string;
  /** An example input, prefilled in the start form. */
  readonly example?: unknown;
  readonly description?: string;
  /** The tenants that can start it. @default any */
  readonly tenants?: readonly string[];
}

/** A run that a worker claimed. */
interface WorkerClaim {
  readonly run: string;
  readonly agent: string;
  readonly version: number;
  readonly status: unknown;
}

/** Called when workers, by the names that they give themselves, ask for runs of agents and claim runs. */
export interface WorkerEvents {
  onAsk(agents: readonly string[], worker: string | undefined): void;
  onClaim(claim: WorkerClaim, worker: string | undefined): void;
}

/** Dependencies and settings of the HTTP application. */
export interface AppOptions {
  /** Not bound to a tenant: each request runs in the tenant of its caller. */
  readonly runtime: Runtime;
  readonly identify: Identify;
  /** Signs URLs for payloads that are too large for a Lambda response. @default large payloads are streamed */
  readonly signedUrls?: SignedUrls | undefined;
  readonly telemetry: Pick<Telemetry, 'log' | 'count'>;
  /** Lists the known agents; starting another one fails. @default callers can start any agent by name */
  readonly agents?: () => Promise<readonly KnownAgent[]>;
  /** Whether callers can start other agents than the known ones. @default false */
  readonly startsAnyAgent?: () => boolean;
  /**
   * How often a stream of events looks for new ones. @default a stream ends after the events so far, and the reader
   * connects again, because Lambda answers once
   */
  readonly eventPollMs?: number;
  /** Observes workers. @default nobody does */
  readonly workers?: WorkerEvents;
  /** Origins of other sites whose pages may call the API, but never the console. @default none */
  readonly corsOrigins?: readonly string[];
}
