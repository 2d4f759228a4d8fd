import { type CheckpointStoreOptions, contextFactory } from '../../checkpoints/context-factory.ts';
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

/**
 * Where the runs of an agent are kept, and what they run on. Without `storage`, the environment also says how long runs are
 * kept (WAITSTATE_RETENTION_SECONDS) and with which key they are encrypted (WAITSTATE_KMS_KEY), unless it is said here.
 */
export interface AgentOptions extends Omit<CheckpointStoreOptions, 'schema' | 'clock'> {
  /** @default what the environment names: WAITSTATE_TABLE and WAITSTATE_BUCKET, or a folder */
  readonly storage?: Storage | (() => Promise<Storage>);
  /** What links to approvals begin with. @default the environment's WAITSTATE_APPROVAL_URL */
  readonly approvalUrl?: string;
  /** @default the clock of the machine */
  readonly clock?: Clock;
  /** Numbers from 0 to 1, which shorten pauses. @default Math.random */
  readonly chance?: () => number;
  /** Brings a run that is ready to a process. @default nobody does: a stream, a worker or a sweep finds it */
  readonly deliver?: (delivery: Delivery) => Promise<void>;
  /** @default lines of JSON on the console */
  readonly log?: Log;
  /** For tests: sees each step pass. */
  readonly probe?: Probe;
}

type Definition = AgentDefinition<never, unknown, unknown>;

/** How the store of an agent reads and writes states. */
export function toStoreOptions({ state }: Definition, place: AgentOptions): CheckpointStoreOptions {
  const { storage, clock = systemClock } = place;
  const { tenant, types, keys, acceptUnencrypted, retentionSeconds, writer, runsInMemory } = place;
  const said = { tenant, types, keys, acceptUnencrypted, retentionSeconds, writer, runsInMemory };
  const { version, order, migrations, oldest } = state ?? {};
  return {
    ...(storage === undefined && optionsFromEnvironment()),
    ...omitUndefined(said satisfies Record<Exclude<keyof CheckpointStoreOptions, 'schema' | 'clock'>, unknown>),
    clock: () => clock.now(),
    ...(version !== undefined && { schema: { version, ...omitUndefined({ order, migrations, oldest }) } }),
  };
}

/** What an agent runs on in its place. */
export function createRuntime(definition: Definition, place: AgentOptions): Runtime {
  const { clock = systemClock, storage = storageFromEnvironment(() => clock.now()) } = place;
  return {
    contexts: contextFactory(storage, toStoreOptions(definition, place)),
    clock,
    random: place.chance ?? Math.random,
    deliver: place.deliver,
    log: place.log ?? logLine,
    probe: place.probe,
  };
}

/** One line of JSON for each entry, as CloudWatch takes it. */
const logLine: Log = (level, message, fields) => console[level](JSON.stringify({ level, message, ...fields }));

/** How an agent itself tells people of its approvals; undefined when it has no hook for that. */
export function notifierFor({ notify, members }: Definition, { approvalUrl }: AgentOptions): Notifier | undefined {
  return (
    notify && {
      url: approvalUrl ?? process.env[APPROVAL_URL_VARIABLE],
      members: members && (async (group) => members(group)),
      notify: async (notice) => void (await notify(notice)),
    }
  );
}

/** Refuses an agent whose steps write transactions of their own where the storage cannot. */
export function checkTransactSupport({ name, transact }: Definition, { storage }: AgentOptions): void {
  // What is opened later is not known yet; a commit there would refuse it.
  if (!transact || typeof storage === 'function') return;
  if (storage ? storage.records.supportsForeignWrites : isDynamoConfigured()) return;
  throw agentMisuse(
    `Agent "${name}" says \`transact: true\`, which only storage on DynamoDB can do. Name its table, or leave \`transact\` out.`,
  );
}
