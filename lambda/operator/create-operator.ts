import { createHash } from 'node:crypto';
import type { RunContext } from '../checkpoints/context.ts';
import { withoutCode } from '../checkpoints/derived-contexts.ts';
import { open, readLiveHead } from '../checkpoints/load.ts';
import { fork, forkId, rewind } from '../checkpoints/operations/time-travel.ts';
import { millisecondsOf } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { refused } from '../core/invalid-input.ts';
import { present } from '../core/omit-undefined.ts';
import { forkRun, rewindRun } from '../runtime/control/rewind-and-fork.ts';
import { cancelRun, retryRun, signalRun } from '../runtime/control/run-control.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { remoteValue, valueWithin } from '../runtime/remote/value.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { approvalDesk } from './approval-operator.ts';
import { checkpointView, differenceView, historyPage, payloadIn } from './checkpoint-view.ts';
import { lineageOf } from './lineage.ts';
import type { Desk, ForkInput } from './operator.ts';
import { runView } from './run-view.ts';
import { countRuns, runsPage } from './runs-page.ts';

/** The desk of the runs that a runtime has, in its tenant. */
export function deskOn(given: Runtime): Desk {
  const runtime = { ...given, contexts: withoutCode(given.contexts) };
  const { tenant, context, inRun } = runtime.contexts;
  return {
    tenant,
    runs: async (query = {}) => runsPage(await context(), query),
    counts: async () => countRuns(await context()),
    run: async (run) => runView(await inRun(run)),
    history: async (run, query = {}) => historyPage(await inRun(run), query),
    checkpoint: async (run, which) => checkpointView(await inRun(run), which),
    diff: async (run, before, after) => differenceView(await inRun(run), before, after),
    payload: async (run, from, id) => payloadIn(await inRun(run), from, id),
    lineage: async (run) => lineageOf(await inRun(run)),

    async start(input) {
      const { agent, owner, tags, retentionSeconds, timeout } = input;
      const id = input.id ?? (input.key === undefined ? undefined : idOfKey(input.agent, input.key));
      return startRun(runtime, {
        ...{ agent, id, owner, tags, retentionSeconds, unchecked: true },
        input: await valueWithin(await inRun(id ?? 'none'), 'input', input.input ?? null, () => {
          throw refused('`input`', 'without payloads: there is no run yet that has any', 'one');
        }),
        timeoutMs: timeout && millisecondsOf('`timeout`', timeout),
      });
    },
    async signal(run, { name, value = null, id }) {
      return signalRun(runtime, run, {
        ...{ name, id, unchecked: true },
        value: await remoteValue(await inRun(run), 'value', value),
      });
    },
    cancel: (run, reason) => cancelRun(runtime, run, reason),
    retry: (run) => retryRun(runtime, run),
    async rewind(run, to, { newKeys = false, state } = {}) {
      const at = await inRun(run);
      const edited = state !== undefined && { state: await valueWithin(at, 'state', state, () => open(at, to)) };
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

    ...approvalDesk(runtime),
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
  const opening = () => open(at, version ?? (name === undefined ? undefined : { name }));
  const value = (argument: string, doc: unknown) => valueWithin(at, argument, doc, opening);
  const edited = state === undefined ? undefined : { value: await value('state', state) };
  const results = Object.entries(toolResults ?? {}).map(
    async ([result, doc]) => [result, await value(`toolResults[${JSON.stringify(result)}]`, doc)] as const,
  );
  return {
    ...present({ version, name, id, owner, tags }),
    ...(edited && { edit: () => edited.value }),
    ...(toolResults && { toolResults: Object.fromEntries(await Promise.all(results)) }),
  };
}
