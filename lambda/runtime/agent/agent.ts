import { type CheckpointStore, createCheckpointStore } from '../../checkpoints/checkpoint-store.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { escapeId, toPartition } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { Notifier } from '../approvals/due.ts';
import { pauseAgent, unpauseAgent } from '../control/pause-agent.ts';
import { deliverIfReady, retryFailed } from '../control/run-control.ts';
import { startRun } from '../control/start-run.ts';
import type { AgentDefinition, RunAgent, TurnAgent } from '../definition/agent-definition.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import { checkRetryPolicy } from '../definition/retry-policy.ts';
import { validate } from '../definition/standard-schema.ts';
import { drive } from '../execution/drive.ts';
import { type Claimant, claim, type Skipped } from '../invocation/claim.ts';
import type { InvocationEnd } from '../invocation/invocation.ts';
import { startLeaseRenewal } from '../invocation/lease.ts';
import { type Delivery, deliver, type Runtime } from '../runtime.ts';
import {
  type AgentOptions,
  checkTransactSupport,
  createRuntime,
  notifierFor,
  toStoreOptions,
} from './agent-options.ts';
import { type AgentHandler, lambdaHandler } from './lambda-handler.ts';
import { createRunHandle, type RunHandle } from './run-handle.ts';

export interface StartOptions {
  /** The same id twice starts one run. @default a random one */
  readonly id?: string;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly retentionSeconds?: number;
  /** @default the agent's */
  readonly timeout?: Duration;
}

/** How an invocation went: the run was driven, or it was not for this invocation. */
export type InvokeResult = InvocationEnd | { readonly end: 'aside'; readonly why: Skipped };

/** Which run; of the agent's own tenant unless it says otherwise. */
type Delivered = Pick<Delivery, 'run'> & Partial<Delivery>;

/** An agent, where the types of what it works on do not matter. */
export interface AnyAgent {
  readonly name: string;
  readonly runtime: Runtime;
  /** How it tells people of its approvals, if it does. */
  readonly notifier: Notifier | undefined;
  /** Claims a run and drives it until it ends, waits or yields; what a handler does. */
  invoke(delivery: Delivered, claimant: Claimant): Promise<InvokeResult>;
  /** Tells people of an approval by the agent's own hook. */
  notify(delivery: Delivered, approval: string): Promise<void>;
  /** The Lambda function of this agent. */
  handler(): AgentHandler;
  /** Retries all its runs that FAILED since a moment; gives their ids. */
  retryAll(options: { readonly since: Date }): Promise<readonly string[]>;
  /** No run is claimed until `unpause`. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** The same agent elsewhere. */
  with(place: AgentOptions): AnyAgent;
}

/** An agent that can be started, looked at and run. */
export interface Agent<Input = unknown, State = unknown, Result = unknown> extends AnyAgent {
  /** The checkpoints of its runs. */
  readonly store: CheckpointStore<State>;
  /** What the schema of the input makes of a value; refuses one that does not fit. */
  parseInput(input: unknown): Promise<unknown>;
  /** Starts a run. It runs wherever the agent's handler is. */
  start(input: Input, options?: StartOptions): Promise<RunHandle<Result>>;
  /** A run by its id, whether there is one or not. */
  run(id: string): RunHandle<Result>;
  with(place: AgentOptions): Agent<Input, State, Result>;
}

/** Defines an agent: a function that survives crashes and waits, and a place for its runs. */
export function agent<Input, State, Result>(
  definition: RunAgent<Input, State, Result>,
  place?: AgentOptions,
): Agent<Input, State, Result>;
export function agent<Input, State, Result>(
  definition: TurnAgent<Input, State, Result>,
  place?: AgentOptions,
): Agent<Input, State, Result>;
export function agent<Input, State, Result>(
  given: AgentDefinition<Input, State, Result>,
  place: AgentOptions = {},
): Agent<Input, State, Result> {
  const definition = given as AgentDefinition<never, unknown, unknown>;
  checkDefinition(definition);
  checkTransactSupport(definition, place);
  const { name } = definition;
  const runtime = createRuntime(definition, place);
  const { contexts } = runtime;
  const telling = notifierFor(definition, place);

  const accept = (input: unknown): Promise<unknown> =>
    validate(`The input of agent "${name}"`, definition.input, input);

  const inRun = async (run: string, tenant = contexts.tenant) => ({
    ...(await contexts.forRun(run)),
    ...{ tenant, partition: toPartition(tenant, run) },
  });

  return {
    name,
    runtime,
    notifier: telling,
    store: createCheckpointStore<State>(() => contexts.forTenant(), toStoreOptions(definition, place)),
    parseInput: accept,
    async start(input, options = {}) {
      const value = await accept(input);
      const timeout = options.timeout ?? definition.timeout;
      const timeoutMs = timeout && toMilliseconds('`timeout`', timeout);
      const { run } = await startRun(runtime, { ...options, agent: name, input: value, timeoutMs });
      return createRunHandle(runtime, definition, run);
    },
    run: (id) => createRunHandle(runtime, definition, id),
    async invoke({ run, tenant }, claimant) {
      const at = await inRun(run, tenant);
      const claimed = await claim(at, definition, claimant);
      if (typeof claimed === 'string') return { end: 'aside', why: claimed };
      const inTenant = { ...runtime, contexts: { ...contexts, inRun: (id: string) => inRun(id, tenant) } };
      const release = startLeaseRenewal(at, runtime.clock, claimant);
      const end = await drive(inTenant, at, definition, claimed).finally(release);
      if (end.end === 'suspended' && end.continues) await deliver(runtime, { tenant: at.tenant, run, agent: name });
      if (end.end === 'finished' && end.parent !== undefined)
        await deliverIfReady(runtime, await inRun(end.parent, tenant));
      return end;
    },
    async notify({ run, tenant }, approval) {
      if (!telling) return;
      const [{ findApproval }, { createNotification: makeNotice }] = await Promise.all([
        import('../approvals/change.ts'),
        import('../approvals/notification.ts'),
      ]);
      const at = await inRun(run, tenant);
      await telling.notify(await makeNotice(at, await findApproval(at, approval), telling));
    },
    handler() {
      return lambdaHandler(this);
    },
    retryAll: ({ since }) => retryFailed(runtime, name, since),
    pause: async () => pauseAgent(await contexts.forTenant(), name),
    unpause: async () => unpauseAgent(await contexts.forTenant(), name),
    with: (other) => agent(given as RunAgent<Input, State, Result>, { ...place, ...other }),
  };
}

function checkDefinition(definition: AgentDefinition<never, unknown, unknown>): void {
  const { name, run, turn, retry, timeout, maxAttempts } = Object(definition) as Partial<AgentDefinition>;
  if (typeof name !== 'string') throw invalidInput('The `name` of an agent', 'text', name);
  escapeId('agent', name);
  if ((typeof run === 'function') === (typeof turn === 'function'))
    throw agentMisuse(`Agent "${name}" must have either \`run\` or \`turn\`.`);
  if (retry) checkRetryPolicy(retry);
  if (timeout) toMilliseconds('`timeout`', timeout);
  if (maxAttempts !== undefined && !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1))
    throw invalidInput('`maxAttempts`', 'a whole number from 1', maxAttempts);
}
