import { type Api, runPath } from './api.ts';
import type { Operation, Script } from './script.ts';

/** A run as the protocol hands it out, with the fields that the agent reads. */
interface Invocation {
  readonly run: string;
  readonly agent: string;
  readonly lease: { readonly id: string };
  readonly input: { readonly script: Script };
  readonly checkpoint: {
    readonly version: number;
    readonly status: string;
    readonly toolResults: Readonly<Record<string, unknown>>;
  };
  readonly approvals: readonly { readonly name: string; readonly approved: boolean }[];
  readonly signals: readonly { readonly name: string; readonly value?: unknown; readonly timedOut?: true }[];
  readonly sleeps: readonly { readonly name: string }[];
  readonly calls: readonly {
    readonly name: string;
    readonly result?: unknown;
    readonly error?: { readonly message: string };
  }[];
}

/** Executes scripts as a worker: the reference for agents in other languages. Stops when the signal aborts. */
export async function runReferenceAgent(api: Api, agent: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { status, json } = await api.post('/api/claims', { agents: [agent], wait: { seconds: 2 } });
    if (status === 200) await execute(api, json as unknown as Invocation);
    else if (status !== 204) throw new Error(`POST /api/claims answered ${status}: ${JSON.stringify(json)}`);
  }
}

async function execute(api: Api, claimed: Invocation): Promise<void> {
  let invocation = claimed;
  const { run, agent, input } = claimed;
  if (claimed.checkpoint.status === 'ENDING')
    return end(api, claimed, { status: 'FAILED', error: { message: 'Stopped.' } });
  const outcomes: unknown[] = [];
  for (const [i, operation] of input.script.entries()) {
    const id = `op-${i}`;
    const known = outcomeOf(invocation, id, operation);
    if (known) {
      outcomes.push(known.outcome);
      continue;
    }
    if (operation.do === 'fail')
      return end(api, invocation, { status: 'FAILED', error: { message: operation.message } });
    const [route, body] = requestFor(agent, id, operation);
    const { status, json } = await api.write(run, route, invocation.checkpoint.version, body);
    // Another invocation has the run, or it was cancelled.
    if (status !== 201) return;
    if (operation.do === 'crash') return void (await api.post(`${runPath(run)}/release`, { lease: claimed.lease.id }));
    if (operation.do === 'yield' || json.suspended === true) return;
    const { json: loaded } = await api.get(`${runPath(run)}/load`);
    invocation = { ...invocation, ...loaded };
    const settled = outcomeOf(invocation, id, operation);
    if (!settled) throw new Error(`The outcome of ${JSON.stringify(operation)} is missing.`);
    outcomes.push(settled.outcome);
  }
  await end(api, invocation, { status: 'SUCCEEDED', result: outcomes });
}

const end = async (api: Api, { run, checkpoint }: Invocation, body: object): Promise<void> =>
  void (await api.write(run, 'finish', checkpoint.version, body));

/** The recorded outcome of an operation; undefined if it has not completed. */
function outcomeOf(
  { checkpoint, approvals, signals, sleeps, calls }: Invocation,
  id: string,
  operation: Operation,
): { readonly outcome: unknown } | undefined {
  const named = <T extends { readonly name: string }>(all: readonly T[]): T | undefined =>
    all.find(({ name }) => 'name' in operation && name === operation.name);
  switch (operation.do) {
    case 'approval': {
      const decided = named(approvals);
      return decided && { outcome: decided.approved };
    }
    case 'signal': {
      const received = named(signals);
      return received && { outcome: received.timedOut ? 'timed out' : received.value };
    }
    case 'sleep':
      return named(sleeps) && { outcome: null };
    case 'call': {
      const ended = named(calls);
      return ended && { outcome: ended.error ? `failed: ${ended.error.message}` : ended.result };
    }
    default:
      return Object.hasOwn(checkpoint.toolResults, id) ? { outcome: checkpoint.toolResults[id] } : undefined;
  }
}

type Performed = Exclude<Operation, { readonly do: 'fail' }>;

/** The request that performs an operation. */
function requestFor(agent: string, id: string, operation: Performed): readonly [route: string, body: object] {
  const recorded = { step: id, toolResults: { [id]: null } };
  switch (operation.do) {
    case 'step': {
      const { value, model } = operation;
      return ['checkpoints', { step: id, toolResults: { [id]: value }, ...(model && { model }) }];
    }
    case 'emit':
      return ['checkpoints', { ...recorded, events: [operation.event] }];
    case 'crash':
      return ['checkpoints', recorded];
    case 'yield':
      return ['checkpoints', { ...recorded, status: 'READY' }];
    case 'approval': {
      const { name, approver } = operation;
      return ['approvals', { approval: { name, title: name, approvers: [approver] } }];
    }
    case 'signal': {
      const { name, seconds } = operation;
      return ['waits', { signal: name, ...(seconds !== undefined && { timeout: { seconds } }) }];
    }
    case 'sleep':
      return ['waits', { sleep: operation.name, duration: { seconds: operation.seconds } }];
    case 'call':
      return ['waits', { call: { agent, name: operation.name, input: { script: operation.script } } }];
  }
}
