import { type CheckpointStore, checkpointStoreOn } from '../../checkpoints/checkpoint-store.ts';
import { type Duration, millisecondsOf } from '../../core/duration.ts';
import { escapeId, partitionOf } from '../../core/ids.ts';
import { refused } from '../../core/invalid-input.ts';
import type { Telling } from '../approvals/due.ts';
import { pauseAgent, unpauseAgent } from '../control/pause-agent.ts';
import { deliverIfReady, retryFailed } from '../control/run-control.ts';
import { startRun } from '../control/start-run.ts';
import { type Aside, type Claimant, claim } from '../invocation/claim.ts';
import { drive } from '../invocation/drive.ts';
import type { InvocationEnd } from '../invocation/invocation.ts';
import { renewLease } from '../invocation/lease.ts';
import { checkRetry } from '../operations/retry-policy.ts';
import { type Delivery, deliver, type Runtime } from '../runtime.ts';
import type { AgentDefinition, RunAgent, TurnAgent } from './agent-definition.ts';
import { misused } from './agent-errors.ts';
import { type AgentPlace, checkPlace, runtimeOf, storeOptions, tellingOf } from './agent-options.ts';
import { type AgentHandler, lambdaHandler } from './lambda-handler.ts';
import { type RunHandle, runHandle } from './run-handle.ts';
import { validated } from './standard-schema.ts';

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
export type Invoked = InvocationEnd | { readonly end: 'aside'; readonly why: Aside };

/** Which run; of the agent's own tenant unless it says otherwise. */
type Delivered = Pick<Delivery, 'run'> & Partial<Delivery>;

/** An agent, where the types of what it works on do not matter. */
export interface AnyAgent {
  readonly name: string;
  readonly runtime: Runtime;
  /** How it tells people of its approvals, if it does. */
  readonly telling: Telling | undefined;
  /** Claims a run and drives it until it ends, waits or yields; what a handler does. */
  invoke(delivery: Delivered, claimant: Claimant): Promise<Invoked>;
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
  with(place: AgentPlace): AnyAgent;
}

/** An agent that can be started, looked at and run. */
export interface Agent<Input = unknown, State = unknown, Result = unknown> extends AnyAgent {
  /** The checkpoints of its runs. */
  readonly store: CheckpointStore<State>;
  /** What the schema of the input makes of a value; refuses one that does not fit. */
  accept(input: unknown): Promise<unknown>;
  /** Starts a run. It runs wherever the agent's handler is. */
  start(input: Input, options?: StartOptions): Promise<RunHandle<Result>>;
  /** A run by its id, whether there is one or not. */
  run(id: string): RunHandle<Result>;
  with(place: AgentPlace): Agent<Input, State, Result>;
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
  given: AgentDefinition<Input, State, Result>,
  place: AgentPlace = {},
): Agent<Input, State, Result> {
  const definition = given as AgentDefinition<never, unknown, unknown>;
  checkDefinition(definition);
  checkPlace(definition, place);
  const { name } = definition;
  const runtime = runtimeOf(definition, place);
  const { contexts } = runtime;
  const telling = tellingOf(definition, place);

  const accept = (input: unknown): Promise<unknown> =>
    validated(`The input of agent "${name}"`, definition.input, input);

  const inRun = async (run: string, tenant = contexts.tenant) => ({
    ...(await contexts.inRun(run)),
    ...{ tenant, partition: partitionOf(tenant, run) },
  });

  return {
    name,
    runtime,
    telling,
    store: checkpointStoreOn<State>(() => contexts.context(), storeOptions(definition, place)),
    accept,
    async start(input, options = {}) {
      const value = await accept(input);
      const timeout = options.timeout ?? definition.timeout;
      const timeoutMs = timeout && millisecondsOf('`timeout`', timeout);
      const { run } = await startRun(runtime, { ...options, agent: name, input: value, timeoutMs });
      return runHandle(runtime, definition, run);
    },
    run: (id) => runHandle(runtime, definition, id),
    async invoke({ run, tenant }, claimant) {
      const at = await inRun(run, tenant);
      const claimed = await claim(at, definition, claimant);
      if (typeof claimed === 'string') return { end: 'aside', why: claimed };
      const inTenant = { ...runtime, contexts: { ...contexts, inRun: (id: string) => inRun(id, tenant) } };
      const release = renewLease(at, runtime.clock, claimant);
      const end = await drive(inTenant, at, definition, claimed).finally(release);
      if (end.end === 'suspended' && end.goesOn) await deliver(runtime, { tenant: at.tenant, run, agent: name });
      if (end.end === 'finished' && end.parent !== undefined)
        await deliverIfReady(runtime, await inRun(end.parent, tenant));
      return end;
    },
    async notify({ run, tenant }, approval) {
      if (!telling) return;
      const [{ findApproval }, { makeNotice }] = await Promise.all([
        import('../approvals/change.ts'),
        import('../approvals/notice.ts'),
      ]);
      const at = await inRun(run, tenant);
      await telling.tell(await makeNotice(at, await findApproval(at, approval), telling));
    },
    handler() {
      return lambdaHandler(this);
    },
    retryAll: ({ since }) => retryFailed(runtime, name, since),
    pause: async () => pauseAgent(await contexts.context(), name),
    unpause: async () => unpauseAgent(await contexts.context(), name),
    with: (other) => agent(given as RunAgent<Input, State, Result>, { ...place, ...other }),
  };
}

function checkDefinition(definition: AgentDefinition<never, unknown, unknown>): void {
  const { name, run, turn, retry, timeout, maxAttempts } = Object(definition) as Partial<AgentDefinition>;
  if (typeof name !== 'string') throw refused('The `name` of an agent', 'text', name);
  escapeId('agent', name);
  if ((typeof run === 'function') === (typeof turn === 'function'))
    throw misused(`Agent "${name}" must have either \`run\` or \`turn\`.`);
  if (retry) checkRetry(retry);
  if (timeout) millisecondsOf('`timeout`', timeout);
  if (maxAttempts !== undefined && !(Number.isSafeInteger(maxAttempts) && maxAttempts >= 1))
    throw refused('`maxAttempts`', 'a whole number from 1', maxAttempts);
}
