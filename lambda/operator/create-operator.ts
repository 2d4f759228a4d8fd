import { createHash } from 'node:crypto';
import { type Doc, loadCheckpoint, type RunContext, readLiveHead, withoutAgentCode } from '../checkpoints/engine.ts';
import { fork, forkId, rewind } from '../checkpoints/operations/operations.ts';
import { toMilliseconds } from '../core/duration.ts';
import { WaitstateError } from '../core/errors.ts';
import { invalidInput } from '../core/invalid-input.ts';
import { omitUndefined } from '../core/omit-undefined.ts';
import { pauseAgent, unpauseAgent } from '../runtime/control/pause-agent.ts';
import { previewRestart } from '../runtime/control/preview-restart.ts';
import { forkRun, rewindRun } from '../runtime/control/rewind-and-fork.ts';
import { cancelRun, retryRun, signalRun } from '../runtime/control/run-control.ts';
import type { StartRequest } from '../runtime/control/start-request.ts';
import { startRun } from '../runtime/control/start-run.ts';
import { canonicalJson } from '../runtime/operations/canonical.ts';
import { decodeRemoteValue, decodeWithPayloads } from '../runtime/remote/value.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { createApprovalOperator } from './approval-operator.ts';
import { loadCheckpointView, loadDiffView, loadHistoryPage, loadPayload } from './checkpoint-view.ts';
import { loadLineage } from './lineage.ts';
import type { ForkInput, Operator, StartInput } from './operator.ts';
import { loadRunEvents } from './run-events.ts';
import { loadRunPosition, loadRunView } from './run-view.ts';
import { countRuns, loadRunsPage } from './runs-page.ts';
import { loadTimelinePage } from './timeline-page.ts';

/** Creates the operator of a runtime's tenant. It works without the code of the agents. */
export function createOperator(base: Runtime): Operator {
  const runtime = { ...base, contexts: withoutAgentCode(base.contexts) };
  const { tenant, forTenant, forRun } = runtime.contexts;
  return {
    tenant,
    runs: async (query = {}) => loadRunsPage(await forTenant(), query),
    counts: async () => countRuns(await forTenant()),
    run: async (run, { maxBytes } = {}) => loadRunView(await forRun(run), maxBytes),
    position: async (run) => loadRunPosition(await forRun(run)),
    history: async (run, query = {}) => loadHistoryPage(await forRun(run), query),
    events: async (run, query = {}) => loadRunEvents(await forRun(run), query),
    timeline: async (run, query = {}) => loadTimelinePage(await forRun(run), query),
    checkpoint: async (run, which) => loadCheckpointView(await forRun(run), which),
    diff: async (run, before, after) => loadDiffView(await forRun(run), before, after),
    payload: async (run, from, id) => loadPayload(await forRun(run), from, id),
    lineage: async (run) => loadLineage(await forRun(run)),

    async start(input) {
      const { agent, owner, requestedBy, tags, retention, timeout } = input;
      const id = input.id ?? (input.key === undefined ? undefined : runIdFromKey(input.key));
      return startRun(runtime, {
        agent,
        id,
        owner,
        requestedBy,
        tags,
        retention,
        unchecked: true,
        request: toStartRequest(input),
        input: await decodeWithPayloads(await forRun(id ?? 'none'), 'input', input.input ?? null, () => {
          throw invalidInput('`input`', 'without payloads, because the run does not exist yet', 'a payload');
        }),
        timeoutMs: timeout && toMilliseconds('`timeout`', timeout),
      });
    },
    async signal(run, { name, value = null, id }) {
      return signalRun(runtime, run, {
        name,
        id,
        unchecked: true,
        value: await decodeRemoteValue(await forRun(run), 'value', value),
      });
    },
    pauseAgent: async (agent) => pauseAgent(await forTenant(), agent),
    unpauseAgent: async (agent) => unpauseAgent(await forTenant(), agent),
    cancel: (run, reason) => cancelRun(runtime, run, reason),
    retry: (run) => retryRun(runtime, run),
    previewRestart: async (run, to, action) => previewRestart(await forRun(run), to, action),
    async rewind(run, to, { newKeys = false, state } = {}) {
      const at = await forRun(run);
      const edited = state !== undefined && {
        state: await decodeWithPayloads(at, 'state', state, () => loadCheckpoint(at, to)),
      };
      const isRestarted = await isDurable(at);
      if (!isRestarted && edited) throw notDurableError(run);
      const { record, head } = isRestarted
        ? await rewindRun(runtime, run, to, { newKeys, ...edited })
        : await rewind(at, to, {});
      return { run, version: record.version, status: head.meta.status };
    },
    async fork(run, input = {}) {
      const from = await forRun(run);
      const options = await toForkOptions(from, input);
      if (await isDurable(from)) return forkRun(runtime, run, options);
      const to = await forRun(input.id ?? forkId(run));
      await fork(from, to, options);
      return to.run;
    },

    ...createApprovalOperator(runtime),
  };
}

/** The id of the run that a key starts. */
const runIdFromKey = (key: string): string => `key-${hashOf(key)}`;

/** The hashes of a request to start a run; equal for equal requests, whatever the order of their fields. */
function toStartRequest({ key, input = null, ...rest }: StartInput): StartRequest | undefined {
  if (key === undefined) return undefined;
  const fields = omitUndefined(rest) as unknown as Readonly<Record<string, Doc>>;
  return { key: hashOf(key), body: hashOf(canonicalJson({ ...fields, input })) };
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 24);

const notDurableError = (run: string): WaitstateError =>
  new WaitstateError(
    'INVALID_INPUT',
    `Run "${run}" has no agent: your own program saves it, and does not expect another state after a rewind. Fork the run with that state instead.`,
  );

const isDurable = async (at: RunContext): Promise<boolean> => (await readLiveHead(at)).meta.work !== undefined;

/** The options of a fork as values; documents may point at payloads of the checkpoint that the fork starts from. */
async function toForkOptions(at: RunContext, input: ForkInput) {
  const { version, name, id, state, toolResults, owner, requestedBy, tags } = input;
  const load = () => loadCheckpoint(at, version ?? (name === undefined ? undefined : { name }));
  const value = (argument: string, doc: unknown) => decodeWithPayloads(at, argument, doc, load);
  const edited = state === undefined ? undefined : { value: await value('state', state) };
  const results = Object.entries(toolResults ?? {}).map(
    async ([result, doc]) => [result, await value(`toolResults[${JSON.stringify(result)}]`, doc)] as const,
  );
  return {
    ...omitUndefined({ version, name, id, owner, requestedBy, tags }),
    ...(edited && { edit: () => edited.value }),
    ...(toolResults && { toolResults: Object.fromEntries(await Promise.all(results)) }),
  };
}
