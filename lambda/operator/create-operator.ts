import { createHash } from 'node:crypto';
import type { RunContext } from '../checkpoints/engine.ts';
import { loadCheckpoint, readLiveHead, withoutAgentCode } from '../checkpoints/engine.ts';
import { fork, forkId, rewind } from '../checkpoints/operations/operations.ts';
import { toMilliseconds } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { forkRun, rewindRun } from '../runtime/control/rewind-and-fork.ts';
import { cancelRun, retryRun, signalRun } from '../runtime/control/run-control.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { decodeRemoteValue, decodeWithPayloads } from '../runtime/remote/value.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createApprovalOperator } from './approval-operator.ts';
import { loadCheckpointView, loadDiffView, loadHistoryPage, loadPayload } from './checkpoint-view.ts';
import { loadLineage } from './lineage.ts';
import type { ForkInput, Operator } from './operator.ts';
import { loadRunView } from './run-view.ts';
import { countRuns, loadRunsPage } from './runs-page.ts';

/** The desk of the runs that a runtime has, in its tenant. */
export function createOperator(given: Runtime): Operator {
  const runtime = { ...given, contexts: withoutAgentCode(given.contexts) };
  const { tenant, forTenant: context, forRun: inRun } = runtime.contexts;
  return {
    tenant,
    runs: async (query = {}) => loadRunsPage(await context(), query),
    counts: async () => countRuns(await context()),
    run: async (run) => loadRunView(await inRun(run)),
    history: async (run, query = {}) => loadHistoryPage(await inRun(run), query),
    checkpoint: async (run, which) => loadCheckpointView(await inRun(run), which),
    diff: async (run, before, after) => loadDiffView(await inRun(run), before, after),
    payload: async (run, from, id) => loadPayload(await inRun(run), from, id),
    lineage: async (run) => loadLineage(await inRun(run)),

    async start(input) {
      const { agent, owner, tags, retentionSeconds, timeout } = input;
      const id = input.id ?? (input.key === undefined ? undefined : idOfKey(input.agent, input.key));
      return startRun(runtime, {
        ...{ agent, id, owner, tags, retentionSeconds, unchecked: true },
        input: await decodeWithPayloads(await inRun(id ?? 'none'), 'input', input.input ?? null, () => {
          throw invalidInput('`input`', 'without payloads: there is no run yet that has any', 'one');
        }),
        timeoutMs: timeout && toMilliseconds('`timeout`', timeout),
      });
    },
    async signal(run, { name, value = null, id }) {
      return signalRun(runtime, run, {
        ...{ name, id, unchecked: true },
        value: await decodeRemoteValue(await inRun(run), 'value', value),
      });
    },
    cancel: (run, reason) => cancelRun(runtime, run, reason),
    retry: (run) => retryRun(runtime, run),
    async rewind(run, to, { newKeys = false, state } = {}) {
      const at = await inRun(run);
      const edited = state !== undefined && {
        state: await decodeWithPayloads(at, 'state', state, () => loadCheckpoint(at, to)),
      };
      if (await isDurable(at)) await rewindRun(runtime, run, to, { newKeys, ...edited });
      else if (edited) throw notDurable(run);
      else await rewind(at, to, {});
    },
    async fork(run, input = {}) {
      const from = await inRun(run);
      const options = await forkOptions(from, input);
      if (await isDurable(from)) return forkRun(runtime, run, options);
      const to = await inRun(input.id ?? forkId(run));
      await fork(from, to, options);
      return to.run;
    },

    ...createApprovalOperator(runtime),
  };
}

/** The id of the run that a key starts; the same key of another agent starts another. */
function idOfKey(agent: string, key: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([agent, key]))
    .digest('base64url');
  return `key-${digest.slice(0, 24)}`;
}

const notDurable = (run: string): WaitstateError =>
  new WaitstateError(
    'INVALID_INPUT',
    `Run "${run}" is saved by a program of its own, which a rewind with another state would surprise. Fork it with that state instead.`,
  );

const isDurable = async (at: RunContext): Promise<boolean> => (await readLiveHead(at)).meta.work !== undefined;

/** What is different in a fork, as values; documents may point at payloads of the checkpoint that it begins with. */
async function forkOptions(at: RunContext, input: ForkInput) {
  const { version, name, id, state, toolResults, owner, tags } = input;
  const opening = () => loadCheckpoint(at, version ?? (name === undefined ? undefined : { name }));
  const value = (argument: string, doc: unknown) => decodeWithPayloads(at, argument, doc, opening);
  const edited = state === undefined ? undefined : { value: await value('state', state) };
  const results = Object.entries(toolResults ?? {}).map(
    async ([result, doc]) => [result, await value(`toolResults[${JSON.stringify(result)}]`, doc)] as const,
  );
  return {
    ...omitUndefined({ version, name, id, owner, tags }),
    ...(edited && { edit: () => edited.value }),
    ...(toolResults && { toolResults: Object.fromEntries(await Promise.all(results)) }),
  };
}
