import type { CheckpointStore } from '../checkpoints/checkpoint-store.ts';
import { checkpointStoreOn } from '../checkpoints/checkpoint-store.ts';
import { type CheckpointStoreOptions, contextsOn } from '../checkpoints/contexts.ts';
import { runs } from '../checkpoints/history.ts';
import { readLiveHead, type Which } from '../checkpoints/open.ts';
import type { ForkOptions } from '../checkpoints/travel.ts';
import { type Duration, millisecondsOf } from '../core/duration.ts';
import { escapeId, partitionOf } from '../core/ids.ts';
import { refused } from '../core/input.ts';
import type { Status } from '../core/status.ts';
import { isOnDynamo, storageFromEnvironment } from '../from-environment.ts';
import type { Storage } from '../storage/ports.ts';
import type { AgentDefinition, RunAgent, TurnAgent } from './agent-definition.ts';
import { misused } from './agent-errors.ts';
import type { DecideInput } from './approvals/decide.ts';
import type { LinkOptions } from './approvals/notice.ts';
import type { ApprovalView } from './approvals/view.ts';
import { type Aside, type Claimant, claim } from './claim.ts';
import { type Clock, systemClock } from './clock.ts';
import { drive } from './drive.ts';
import type { RewindOptions } from './going-back.ts';
import type { InvocationEnd } from './invocation.ts';
import { cancelRun, deliverIfReady, retryRun, runResult, signalRun } from './outside.ts';
import { pauseAgent, unpauseAgent } from './pausing.ts';
import { checkRetry } from './retry-policy.ts';
import { type Delivery, deliver, type Log, type Probe, type Runtime } from './runtime.ts';
import { validated } from './standard-schema.ts';
import { startRun } from './start.ts';

/** Where the runs of an agent are kept, and what they run on. */
export interface AgentPlace extends Omit<CheckpointStoreOptions, 'schema' | 'clock'> {
  /** @default what the environment names: HOLDPOINT_TABLE and HOLDPOINT_BUCKET, or a folder */
  readonly storage?: Storage | (() => Promise<Storage>);
  /** What links to approvals begin with. @default the environment's HOLDPOINT_APPROVAL_URL */
  readonly approvalUrl?: string;
  readonly clock?: Clock;
  readonly chance?: () => number;
  readonly deliver?: (delivery: Delivery) => Promise<void>;
  readonly log?: Log;
  /** For tests: sees each step pass. */
  readonly probe?: Probe;
}

export interface StartOptions {
  /** The same id twice starts one run. @default a random one */
  readonly id?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly retentionSeconds?: number;
  /** @default the agent's */
  readonly timeout?: Duration;
}

/** A run, from outside. */
export interface RunHandle<Result = unknown> {
  readonly id: string;
  status(): Promise<Status>;
  /** Waits for the end; throws what the run failed with. */
  result(options?: { readonly timeout?: Duration }): Promise<Result>;
  /** Says whether the signal is new: one with an id that was sent before changes nothing. */
  signal(name: string, value?: unknown, options?: { readonly id?: string }): Promise<boolean>;
  cancel(reason?: string): Promise<Status>;
  /** Lets a run that failed go on from where it was. */
  retry(): Promise<void>;
  rewind(to: Which, options?: RewindOptions): Promise<void>;
  fork(options?: ForkOptions): Promise<RunHandle<Result>>;
  /** The approvals that are open, or the one that is named. */
  approvals(): Promise<readonly ApprovalView[]>;
  decide(input: DecideInput): Promise<ApprovalView>;
}

/** How an invocation went: the run was driven, or it was not for this invocation. */
export type Invoked = InvocationEnd | { readonly end: 'aside'; readonly why: Aside };

/** An agent, where the types of what it works on do not matter. */
export interface AnyAgent {
  readonly name: string;
  readonly definition: Pick<AnyDefinition, 'name' | 'members' | 'notify'>;
  readonly runtime: Runtime;
  /** What links to its approvals begin with. */
  readonly approvalUrl: string | undefined;
  /** Claims a run and drives it until it ends, waits or yields; what a handler does. */
  invoke(delivery: Pick<Delivery, 'run'> & Partial<Delivery>, claimant: Claimant): Promise<Invoked>;
  /** Tells people of an approval by the agent's own hook. */
  notify(delivery: Pick<Delivery, 'run'> & Partial<Delivery>, approval: string): Promise<void>;
  /** The Lambda function of this agent. */
  handler(): (event: unknown, context: LambdaContext) => Promise<unknown>;
  /** Retries all its runs that FAILED since a moment; gives their ids. */
  retryAll(options: { readonly since: Date }): Promise<readonly string[]>;
  /** No run is claimed until `unpause`. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** The same agent elsewhere. */
  with(place: AgentPlace): AnyAgent;
}

/** An agent that can be started, looked at and run. */
export interface Agent<Input = unknown, State = unknown, Result = unknown> extends AnyAgent {
  readonly definition: AgentDefinition<Input, State, Result>;
  /** The checkpoints of its runs. */
  readonly store: CheckpointStore<State>;
  /** Starts a run. It runs wherever the agent's handler is. */
  start(input: Input, options?: StartOptions): Promise<RunHandle<Result>>;
  /** A run by its id, whether there is one or not. */
  run(id: string): RunHandle<Result>;
  with(place: AgentPlace): Agent<Input, State, Result>;
}

/** What of the context of a Lambda invocation is needed. */
export interface LambdaContext {
  readonly awsRequestId: string;
  getRemainingTimeInMillis(): number;
}

/** Defines an agent: a function that survives crashes and waits, and a place for its runs. */
export function agent<Input, State, Result>(
  definition: RunAgent<Input, State, Result>,
  place?: AgentPlace,
): Agent<Input, State, Result>;
export function agent<Input, State, Result>(
  definition: TurnAgent<Input, State, Result>,
  place?: AgentPlace,
): Agent<Input, State, Result>;
export function agent<Input, State, Result>(
  definition: AgentDefinition<Input, State, Result>,
  place: AgentPlace = {},
): Agent<Input, State, Result> {
  const known = definition as AnyDefinition;
  checkDefinition(known, place);
  const { name } = definition;
  const runtime = runtimeOf(known, place);
  const { contexts } = runtime;

  const inRun = async (run: string, tenant = contexts.tenant) => ({
    ...(await contexts.inRun(run)),
    ...{ tenant, partition: partitionOf(tenant, run) },
  });

  const self: Agent<Input, State, Result> = {
    name,
    definition,
    runtime,
    approvalUrl: linksOf(known, place).url,
    store: checkpointStoreOn<State>(async () => await contexts.context(), storeOptions(known, place)),
    async start(input, options = {}) {
      const value = await validated(`The input of agent "${name}"`, definition.input, input);
      const timeout = options.timeout ?? definition.timeout;
      const timeoutMs = timeout && millisecondsOf('`timeout`', timeout);
      const { run } = await startRun(runtime, { ...options, agent: name, input: value, timeoutMs });
      return self.run(run);
    },
    run: (id) => handleOf(self, id),
    async invoke({ run, tenant }, claimant) {
      const at = await inRun(run, tenant);
      const claimed = await claim(at, known, claimant);
      if (typeof claimed === 'string') return { end: 'aside', why: claimed };
      const end = await drive(
        { ...runtime, contexts: { ...contexts, inRun: (id) => inRun(id, tenant) } },
        at,
        known,
        claimed,
      );
      if (end.end === 'suspended' && (end.status === 'READY' || end.status === 'ENDING'))
        await deliver(runtime, { tenant: at.tenant, run, agent: name });
      if (end.end === 'finished' && end.parent !== undefined)
        await deliverIfReady(runtime, await inRun(end.parent, tenant));
      return end;
    },
    async notify({ run, tenant }, approval) {
      const { findApproval } = await import('./approvals/change.ts');
      const { makeNotice } = await import('./approvals/notice.ts');
      const at = await inRun(run, tenant);
      await definition.notify?.(await makeNotice(at, await findApproval(at, approval), linksOf(known, place)));
    },
    handler: () => lambdaHandler(self),
    async retryAll({ since }) {
      const retried: string[] = [];
      for await (const { run } of runs(await contexts.context(), { status: 'FAILED', agent: name, since })) {
        await retryRun(runtime, run);
        retried.push(run);
      }
      return retried;
    },
    pause: async () => pauseAgent(await contexts.context(), name),
    unpause: async () => unpauseAgent(await contexts.context(), name),
    with: (other) => agent(definition as RunAgent<Input, State, Result>, { ...place, ...other }),
  };
  return self;
}

type AnyDefinition = AgentDefinition<never, unknown, unknown>;

/** How links to approvals are made for an agent. */
const linksOf = (
  { members }: AnyDefinition,
  { approvalUrl = process.env.HOLDPOINT_APPROVAL_URL }: AgentPlace,
): LinkOptions => ({
  url: approvalUrl,
  members: members && (async (group) => members(group)),
});

function checkDefinition(definition: AnyDefinition, { storage }: AgentPlace): void {
  const { name, run, turn, retry, timeout, transact, maxAttempts } = Object(definition) as Partial<AgentDefinition>;
  if (typeof name !== 'string') throw refused('The `name` of an agent', 'text', name);
  escapeId('agent', name);
  if ((typeof run === 'function') === (typeof turn === 'function'))
    throw misused(`Agent "${name}" must have either \`run\` or \`turn\`.`);
  if (retry) checkRetry(retry);
  if (timeout) millisecondsOf('`timeout`', timeout);
  if (maxAttempts !== undefined && !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1))
    throw refused('`maxAttempts`', 'a whole number from 1', maxAttempts);
  const takesForeign =
    typeof storage === 'object' ? storage.records.takesForeign : storage === undefined && isOnDynamo();
  if (transact && !takesForeign && typeof storage !== 'function')
    throw misused(
      `Agent "${name}" says \`transact: true\`, which only storage on DynamoDB can do. Name its table, or leave \`transact\` out.`,
    );
}

function storeOptions({ state }: AnyDefinition, place: AgentPlace): CheckpointStoreOptions {
  const {
    storage: _,
    approvalUrl: _url,
    clock = systemClock,
    chance: __,
    deliver: ___,
    log: ____,
    probe: ______,
    ...options
  } = place;
  const { initial: _____, version, ...ladder } = state ?? {};
  return { ...options, clock: () => clock.now(), ...(version !== undefined && { schema: { ...ladder, version } }) };
}

function runtimeOf(definition: AnyDefinition, place: AgentPlace): Runtime {
  const { clock = systemClock, storage = storageFromEnvironment(() => clock.now()) } = place;
  return {
    contexts: contextsOn(storage, storeOptions(definition, place)),
    clock,
    chance: place.chance ?? Math.random,
    deliver: place.deliver,
    log: place.log ?? logLine,
    probe: place.probe,
  };
}

/** One line of JSON for each entry, as CloudWatch takes it. */
const logLine: Log = (level, message, fields) => console[level](JSON.stringify({ level, message, ...fields }));

function handleOf<Input, State, Result>(
  { runtime, definition, ...self }: Agent<Input, State, Result>,
  id: string,
): RunHandle<Result> {
  const inRun = () => runtime.contexts.inRun(id);
  return {
    id,
    status: async () => (await readLiveHead(await inRun())).meta.status,
    result: async ({ timeout } = {}) => (await runResult(runtime, id, timeout)) as Result,
    async signal(name, value, options = {}) {
      const checked = await validated(`Signal "${name}"`, definition.signals?.[name], value);
      return signalRun(runtime, id, { name, value: checked, id: options.id });
    },
    cancel: (reason) => cancelRun(runtime, id, reason),
    retry: () => retryRun(runtime, id),
    rewind: async (to, options) => (await import('./going-back.ts')).rewindRun(runtime, id, to, options),
    fork: async (options) => self.run(await (await import('./going-back.ts')).forkRun(runtime, id, options)),
    async approvals() {
      const at = await inRun();
      const { viewApproval } = await import('./approvals/view.ts');
      const open = (await readLiveHead(at)).meta.work?.approvals ?? [];
      return Promise.all(open.map((each) => viewApproval(at, each)));
    },
    async decide(input) {
      const { decide } = await import('./approvals/decide.ts');
      const view = await decide(await inRun(), input);
      await deliverIfReady(runtime, await inRun());
      return view;
    },
  };
}

/** What an agent's function is invoked with. */
export interface AgentEvent {
  readonly run: string;
  readonly tenant?: string;
  /** To tell people of this approval instead of running the agent. */
  readonly notify?: string;
}

// Time for the last write and its answer, before the function is stopped.
const MARGIN_MS = 500;

const lambdaHandler =
  <Input, State, Result>(self: Agent<Input, State, Result>) =>
  async (event: unknown, context: LambdaContext): Promise<unknown> => {
    const { run, tenant, notify } = Object(event) as Partial<AgentEvent>;
    if (typeof run !== 'string') throw refused(`The event of agent "${self.name}"`, '{ run, tenant }', event);
    if (notify !== undefined) return self.notify({ run, ...(tenant !== undefined && { tenant }) }, notify);
    const until = self.runtime.clock.now() + context.getRemainingTimeInMillis() - MARGIN_MS;
    const delivery = { run, ...(tenant !== undefined && { tenant }) };
    const outcome = await self.invoke(delivery, { by: context.awsRequestId, until });
    if (outcome.end === 'failed') throw outcome.error;
    return outcome;
  };
