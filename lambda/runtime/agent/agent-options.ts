import { type CheckpointStoreOptions, contextFactory } from '../../checkpoints/engine.ts';
import {
  isDynamoConfigured,
  optionsFromEnvironment,
  storageFromEnvironment,
} from '../../checkpoints/store-from-environment.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { APPROVAL_URL_VARIABLE } from '../../environment/names.ts';
import type { Storage } from '../../storage/ports.ts';
import type { Notifier } from '../approvals/due.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { AgentDefinition } from '../definition/agent-definition.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import type { Delivery, Log, Probe, Runtime } from '../runtime.ts';
import type { Spans } from '../spans.ts';

/**
 * Where an agent stores its runs, and what it runs on. Without `storage`, the environment also sets the retention of
 * runs (WAITSTATE_RETENTION_SECONDS) and the encryption key (WAITSTATE_KMS_KEY); options given here take precedence.
 */
export interface AgentOptions extends Omit<CheckpointStoreOptions, 'schema' | 'clock'> {
  /** @default the storage that the environment names: WAITSTATE_TABLE and WAITSTATE_BUCKET, or a folder */
  readonly storage?: Storage | (() => Promise<Storage>);
  /** The URL that approval links begin with. @default WAITSTATE_APPROVAL_URL from the environment */
  readonly approvalUrl?: string;
  /** @default the clock of the machine */
  readonly clock?: Clock;
  /** Numbers from 0 to 1, for the jitter of retry delays. @default Math.random */
  readonly random?: () => number;
  /** Delivers a READY run to a process. @default none: the table's stream, a worker or a sweep delivers it */
  readonly deliver?: (delivery: Delivery) => Promise<void>;
  /** @default one line of JSON per entry on the console */
  readonly log?: Log;
  /** Traces invocations and steps, as `openTelemetrySpans()` of `waitstate/opentelemetry`. @default no traces */
  readonly spans?: Spans;
  /** For tests: observes each phase of each step. */
  readonly probe?: Probe;
}

type Definition = AgentDefinition<never, unknown, unknown>;

/** The options of the agent's checkpoint store, with the schema of its state. */
export function toStoreOptions({ state }: Definition, options: AgentOptions): CheckpointStoreOptions {
  const { storage, clock = systemClock } = options;
  const { tenant, types, keys, acceptUnencrypted, retention, writer, runsInMemory } = options;
  const explicit = { tenant, types, keys, acceptUnencrypted, retention, writer, runsInMemory };
  const { version, order, migrations, oldest } = state ?? {};
  return {
    ...(storage === undefined && optionsFromEnvironment()),
    ...omitUndefined(explicit satisfies Record<Exclude<keyof CheckpointStoreOptions, 'schema' | 'clock'>, unknown>),
    clock: () => clock.now(),
    ...(version !== undefined && { schema: { version, ...omitUndefined({ order, migrations, oldest }) } }),
  };
}

/** Creates the runtime of an agent from its options. */
export function createRuntime(definition: Definition, options: AgentOptions): Runtime {
  const { clock = systemClock, storage = storageFromEnvironment(() => clock.now()) } = options;
  return {
    contexts: contextFactory(storage, toStoreOptions(definition, options)),
    clock,
    random: options.random ?? Math.random,
    deliver: options.deliver,
    log: options.log ?? logJsonLine,
    spans: options.spans,
    probe: options.probe,
  };
}

// CloudWatch Logs parses one JSON object per line.
const logJsonLine: Log = (level, message, fields) => console[level](JSON.stringify({ level, message, ...fields }));

/** The notifier that calls the agent's own `members` and `notify` hooks; undefined when the agent has neither. */
export function notifierFor({ notify, members }: Definition, { approvalUrl }: AgentOptions): Notifier | undefined {
  if (!notify && !members) return undefined;
  return {
    url: approvalUrl ?? process.env[APPROVAL_URL_VARIABLE],
    members: members && (async (group) => members(group)),
    notify: async (notification) => void (await notify?.(notification)),
  };
}

/** Throws AGENT_MISUSED when the agent's steps use `transact` and its storage does not support it. */
export function checkTransactSupport({ name, transact }: Definition, { storage }: AgentOptions): void {
  // A storage that is created later is not known yet; without support, its commits fail.
  if (!transact || typeof storage === 'function') return;
  if (storage ? storage.records.supportsForeignWrites : isDynamoConfigured()) return;
  throw agentMisuse(
    `Agent "${name}" has \`transact: true\`, which only DynamoDB storage supports. Use a DynamoDB table, or remove \`transact\`.`,
  );
}
