import { type CheckpointStore, createCheckpointStore } from '../../checkpoints/checkpoint-store.ts';
import type { Person } from '../../core/approval.ts';
import { type Duration, toMilliseconds } from '../../core/duration.ts';
import { escapeId, toPartition } from '../../core/ids.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import type { Notifier } from '../approvals/due.ts';
import { logClockDifference } from '../clock-difference.ts';
import { pauseAgent, unpauseAgent } from '../control/pause-agent.ts';
import { retryFailed } from '../control/run-control.ts';
import { startRun } from '../control/start-run.ts';
import type { Done } from '../definition/agent-context.ts';
import type { AgentDefinition, DoneResult, RunAgent, TurnAgent } from '../definition/agent-definition.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import { checkRetryPolicy } from '../definition/retry-policy.ts';
import type { SignalSchemas } from '../definition/signal-schemas.ts';
import { validate } from '../definition/standard-schema.ts';
import { drive } from '../execution/drive.ts';
import { type Claimant, claim, type Skipped } from '../invocation/claim.ts';
import type { InvocationEnd } from '../invocation/invocation-end.ts';
import { startLeaseRenewal } from '../invocation/lease.ts';
import { type Delivery, deliver, type Runtime } from '../runtime.ts';
import { deliverIfReady } from '../wake/wake.ts';
import {
  type AgentOptions,
  checkTransactSupport,
  createRuntime,
  notifierFor,
  toStoreOptions,
} from './agent-options.ts';
import { type AgentHandler, lambdaHandler } from './lambda-handler.ts';
import { createRunHandle, type RunHandle } from './run-handle.ts';

/** Options of one run. */
export interface StartOptions {
  /** The id of the run; starting the same id twice starts one run. @default a random id */
  readonly id?: string;
  readonly owner?: string;
  /** The person who requests the run, such as `user:ann`; approvals can exclude them. @default nobody is known */
  readonly requestedBy?: Person;
  readonly tags?: readonly string[];
  /** How long the run is kept after its last write. @default the agent's retention */
  readonly retention?: Duration;
  /** How long the run may take in total. @default the agent's timeout */
  readonly timeout?: Duration;
}

/** The result of an invocation: how the run was left, or why the run was not claimed. */
export type InvokeResult = InvocationEnd | { readonly end: 'skipped'; readonly reason: Skipped };

/** A run, in the agent's own tenant unless another one is given. */
type RunRef = Pick<Delivery, 'run'> & Partial<Delivery>;

/** An agent of any input, state and result. */
export interface AnyAgent {
  readonly name: string;
  readonly description: string | undefined;
  /** The example input of its definition. */
  readonly example: unknown;
  readonly runtime: Runtime;
  /** Notifies approvers through the agent's own `members` and `notify` hooks, if it has one of them. */
  readonly notifier: Notifier | undefined;
  /** Validates an input with the agent's schema and returns the parsed value; throws SCHEMA_REFUSED otherwise. */
  parseInput(input: unknown): Promise<unknown>;
  /** Claims a run and drives it until it ends, suspends or yields; handlers call this. */
  invoke(delivery: RunRef, claimant: Claimant): Promise<InvokeResult>;
  /** Notifies the approvers of an approval through the agent's own `notify` hook. */
  notify(delivery: RunRef, approval: string): Promise<void>;
  /** Creates the Lambda handler of this agent. */
  handler(): AgentHandler;
  /** Retries every run of the agent that FAILED since the given date; returns their ids. */
  retryAll(options: { readonly since: Date }): Promise<readonly string[]>;
  /** Stops runs of the agent from being claimed until `unpause`. Runs that are already claimed continue. */
  pause(): Promise<void>;
  /** Allows runs to be claimed again. */
  unpause(): Promise<void>;
  /** The same agent with other options. */
  with(options: AgentOptions): AnyAgent;
}

/** An agent whose runs you can start, inspect and control. */
export interface Agent<
  Input = unknown,
  State = unknown,
  Result = unknown,
  Signals extends SignalSchemas = SignalSchemas,
> extends AnyAgent {
  /** The checkpoints of its runs. */
  readonly store: CheckpointStore<State>;
  /** Starts a run. The process that has the agent's handler or worker executes it. */
  start(input: Input, options?: StartOptions): Promise<RunHandle<Result, Signals>>;
  /** A handle to a run by its id. Does not check that the run exists. */
  run(id: string): RunHandle<Result, Signals>;
  with(options: AgentOptions): Agent<Input, State, Result, Signals>;
}

/** Defines an agent: a function that survives crashes and waits, and the options that its runs use. */
export function agent<Input, State, Result, Signals extends SignalSchemas = SignalSchemas, RawInput = Input>(
  definition: RunAgent<Input, State, Result, Signals, RawInput>,
  options?: AgentOptions,
): Agent<RawInput, State, Result, Signals>;
export function agent<
  Input,
  State,
  // Inferred as a whole: from `Done<Result>`, the compiler would infer one of several results instead of their union.
  Returned extends NoInfer<State> | Done<NoInfer<RawResult>> | void,
  Result = DoneResult<Returned>,
  Signals extends SignalSchemas = SignalSchemas,
  RawInput = Input,
  RawResult = unknown,
>(
  definition: TurnAgent<Input, State, Result, Signals, RawInput, Returned, RawResult>,
  options?: AgentOptions,
): Agent<RawInput, State, Result, Signals>;
export function agent<Input, State, Result, Signals extends SignalSchemas>(
  typedDefinition: AgentDefinition<Input, State, Result, Signals>,
  options: AgentOptions = {},
): Agent<Input, State, Result, Signals> {
  const definition = typedDefinition as unknown as AgentDefinition<never, unknown, unknown>;
  checkDefinition(definition);
  checkTransactSupport(definition, options);
  const { name, description, example } = definition;
  const runtime = createRuntime(definition, options);
  const { contexts } = runtime;
  const notifier = notifierFor(definition, options);

  const parseInput = (input: unknown): Promise<unknown> =>
    validate(`The input of agent "${name}"`, definition.input, input);

  const forRun = async (run: string, tenant = contexts.tenant) => ({
    ...(await contexts.forRun(run)),
    tenant,
    partition: toPartition(tenant, run),
  });

  return {
    name,
    description,
    example,
    runtime,
    notifier,
    store: createCheckpointStore<State>(() => contexts.forTenant(), toStoreOptions(definition, options)),
    parseInput,
    async start(input, startOptions = {}) {
      const value = await parseInput(input);
      const timeout = startOptions.timeout ?? definition.timeout;
      const timeoutMs = timeout && toMilliseconds('`timeout`', timeout);
      const { run } = await startRun(runtime, { ...startOptions, agent: name, input: value, timeoutMs });
      return createRunHandle(runtime, definition, run);
    },
    run: (id) => createRunHandle(runtime, definition, id),
    async invoke({ run, tenant }, claimant) {
      const at = await forRun(run, tenant);
      const claimed = await claim(at, definition, claimant);
      logClockDifference(at, runtime.log);
      if (typeof claimed === 'string') return { end: 'skipped', reason: claimed };
      const tenantRuntime: Runtime = { ...runtime, contexts: { ...contexts, forRun: (id) => forRun(id, tenant) } };
      const stopRenewal = startLeaseRenewal(at, runtime.clock, claimant);
      const driveRun = () => drive(tenantRuntime, at, definition, claimed).finally(stopRenewal);
      const about = { tenant: at.tenant, run, agent: name };
      const end = await (runtime.spans ? runtime.spans.invocation(about, driveRun) : driveRun());
      if (end.end === 'suspended' && end.continues) await deliver(runtime, { tenant: at.tenant, run, agent: name });
      if (end.end === 'finished' && end.parent !== undefined)
        await deliverIfReady(runtime, await forRun(end.parent, tenant));
      return end;
    },
    async notify({ run, tenant }, approval) {
      if (!notifier) return;
      const [{ findApproval }, { createNotification }] = await Promise.all([
        import('../approvals/find-approval.ts'),
        import('../approvals/notification.ts'),
      ]);
      const found = await findApproval(await forRun(run, tenant), approval);
      await notifier.notify(await createNotification(found, notifier));
    },
    handler() {
      return lambdaHandler(this);
    },
    retryAll: ({ since }) => retryFailed(runtime, name, since),
    pause: async () => void (await pauseAgent(await contexts.forTenant(), name)),
    unpause: async () => void (await unpauseAgent(await contexts.forTenant(), name)),
    with: (overrides) =>
      agent(typedDefinition as RunAgent<Input, State, Result, Signals>, { ...options, ...overrides }),
  };
}

function checkDefinition(definition: AgentDefinition<never, unknown, unknown>): void {
  const { name, description, run, turn, retry, timeout, maxClaimsWithoutProgress } = Object(
    definition,
  ) as Partial<AgentDefinition>;
  if (typeof name !== 'string') throw invalidInput('The `name` of an agent', 'text', name);
  escapeId('agent', name);
  if (!['string', 'undefined'].includes(typeof description))
    throw invalidInput(`The \`description\` of agent "${name}"`, 'text', description);
  if ((typeof run === 'function') === (typeof turn === 'function'))
    throw agentMisuse(`Agent "${name}" must define exactly one of \`run\` and \`turn\`.`);
  if (retry) checkRetryPolicy(retry);
  if (timeout) toMilliseconds('`timeout`', timeout);
  if (
    maxClaimsWithoutProgress !== undefined &&
    !(Number.isSafeInteger(maxClaimsWithoutProgress) && maxClaimsWithoutProgress >= 1)
  )
    throw invalidInput('`maxClaimsWithoutProgress`', 'a whole number from 1', maxClaimsWithoutProgress);
}
