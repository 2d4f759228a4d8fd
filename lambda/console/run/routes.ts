import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { type Doc, equal, isFields } from '../../checkpoints/engine.ts';
import { invalidInput } from '../../core/invalid-input.ts';
import { omitUndefined } from '../../core/omit-undefined.ts';
import type { Caller } from '../../http/caller.ts';
import { knownAgentNames } from '../../http/check-agent.ts';
import { HttpError } from '../../http/problem.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { OPERATE_ROLES, VIEW_ROLES } from '../../http/roles.ts';
import type { Operator } from '../../operator/operator.ts';
import { listRecordedResults } from '../../operator/recorded-results.ts';
import { toEditableJson } from '../json-editor.ts';
import { PATHS, queryString } from '../paths.ts';
import {
  authorize,
  type ConsoleContext,
  type ConsoleOptions,
  htmlResponse,
  idFromPath,
  parseDocument,
  parseTags,
  parseWholeNumber,
  readForm,
  redirectTo,
  submitForm,
} from '../request.ts';
import { type ActionForm, type ActionView, actionPage, type RunAction } from './action-page.ts';
import { type CheckpointPageView, checkpointPage, documentPartPage, statePage } from './checkpoint-page.ts';
import { loadChoices } from './checkpoint-picker.ts';
import { diffPage } from './diff-page.ts';
import { lineagePage } from './lineage-page.ts';
import { submittedResults } from './result-editors.ts';
import { runApprovalsPage } from './run-approvals-page.ts';
import { contentPage, type KnownState, runChanges, runPage } from './run-page.ts';
import { PAGE_SIZE } from './timeline-section.ts';

// The page of a run with a larger state opens without it, and loads it as a part.
const MAX_CONTENT_BYTES = 512 * 1024;

/** Registers the pages of one run. */
export function runRoutes(app: Hono<ApiEnv>, options: ConsoleOptions): void {
  const { runtime } = options;
  const now = () => new Date(runtime.clock.now());
  const agentNames = ({ tenant }: Caller) => knownAgentNames(options, tenant);

  app.get('/runs/:run', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    const { done, find: given, to } = context.req.query();
    const find = given?.trim() || undefined;
    const query = omitUndefined({ find: find?.slice(0, 200), to: parseWholeNumber(to) });
    const run = await operator.run(id, { maxBytes: MAX_CONTENT_BYTES });
    const timeline = await operator.timeline(id, { ...query, limit: PAGE_SIZE });
    return htmlResponse(
      context,
      runPage({ caller, run, agents: await agentNames(caller), timeline, find, done, now: now() }),
    );
  });

  app.get('/runs/:run/changes', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    const known = parseKnownState(context);
    const { version, status } = await operator.position(id);
    if (version === known.version && status === known.status) return context.body(null, 204);
    const run = await operator.run(id, { maxBytes: MAX_CONTENT_BYTES });
    const timeline = await operator.timeline(id, { to: known.version + PAGE_SIZE, limit: PAGE_SIZE });
    return htmlResponse(
      context,
      runChanges({ caller, run, agents: await agentNames(caller), timeline, now: now() }, known),
    );
  });

  app.get('/runs/:run/content', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    return htmlResponse(context, contentPage(caller, await operator.run(id), now()));
  });

  app.get('/runs/:run/checkpoints/:version', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    const version = parseWholeNumber(idFromPath(context, 2)) ?? 0;
    const [checkpoint, position] = await Promise.all([operator.checkpoint(id, version), operator.position(id)]);
    const isWhole = context.req.query('part') === undefined;
    const choices = isWhole ? await loadChoices(operator, id, version) : [];
    return checkpointResponse(context, { caller, checkpoint, newest: position.version, choices, now: now() });
  });

  app.get('/runs/:run/diff', async (context) => {
    const [caller, operator, run] = authorizeViewer(context);
    const [before = 0, after = 0] = ['before', 'after'].map((name) => parseWholeNumber(context.req.query(name)) ?? 0);
    const shown =
      context.req.query('view') === 'side'
        ? ([await operator.checkpoint(run, before), await operator.checkpoint(run, after)] as const)
        : await operator.diff(run, before, after);
    const choices = await loadChoices(operator, run, Math.max(before, after));
    return htmlResponse(context, diffPage({ caller, run, before, after, shown, choices, now: now() }));
  });

  app.get('/runs/:run/approvals', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    return htmlResponse(context, runApprovalsPage(caller, id, await operator.approvals(id), now()));
  });

  app.get('/runs/:run/lineage', async (context) => {
    const [caller, operator, id] = authorizeViewer(context);
    return htmlResponse(context, lineagePage(caller, id, await operator.lineage(id)));
  });

  for (const action of Object.keys(ACTION_HANDLERS) as readonly RunAction[]) {
    app.get(`/runs/:run/${action}`, async (context) =>
      htmlResponse(context, actionPage(action, await loadActionView(context, action, context.req.query(), now()))),
    );
    app.post(`/runs/:run/${action}`, async (context) => {
      const { caller, operator } = authorize(context, OPERATE_ROLES);
      const form = await readForm(context);
      return submitForm(
        context,
        async () => {
          const run = await ACTION_HANDLERS[action](operator, idFromPath(context), form, caller);
          return redirectTo(context, `${PATHS.run(run)}${queryString({ done: action })}`);
        },
        async (problem) => actionPage(action, { ...(await loadActionView(context, action, form, now())), problem }),
      );
    });
  }
}

function authorizeViewer(context: ConsoleContext) {
  const { caller, operator } = authorize(context, VIEW_ROLES);
  return [caller, operator, idFromPath(context)] as const;
}

/** The state that an open page reports. It is not trusted: wrong values only affect that page. */
function parseKnownState({ req }: ConsoleContext): KnownState {
  const number = (name: string) => parseWholeNumber(req.query(name)) ?? 0;
  return { version: number('version'), status: req.query('status') ?? '', longest: number('longest') };
}

async function checkpointResponse(context: ConsoleContext, view: CheckpointPageView): Promise<Response> {
  const { part, at = '', from } = context.req.query();
  if (part === 'state-section') return htmlResponse(context, statePage(view));
  if (part !== 'state' && part !== 'results') return htmlResponse(context, checkpointPage(view));
  const partPage = documentPartPage(view, part, at, parseWholeNumber(from) ?? 0);
  if (!partPage)
    throw new HttpError(404, 'PART_NOT_FOUND', `The checkpoint has no value at "${at}". Check the JSON pointer.`);
  return htmlResponse(context, partPage);
}

// Larger states are not edited by hand.
const MAX_STATE_CHARACTERS = 256 * 1024;

/** Loads what the page of an action shows. */
async function loadActionView(
  context: ConsoleContext,
  action: RunAction,
  form: ActionForm,
  now: Date,
): Promise<ActionView> {
  const { caller, operator } = authorize(context, OPERATE_ROLES);
  const id = idFromPath(context);
  const run = await operator.run(id);
  const version = parseWholeNumber(form.version);
  const isEdited = action === 'fork' || (action === 'rewind' && run.isDurable);
  const checkpoint = isEdited ? await operator.checkpoint(id, version) : undefined;
  const state = checkpoint && toEditableJson(checkpoint.state);
  const isRestart = action === 'fork' || (action === 'rewind' && version !== undefined);
  const preview = isRestart ? await operator.previewRestart(id, version, action) : undefined;
  const isFromCheckpoint = action === 'fork' || action === 'rewind';
  return {
    caller,
    run,
    choices: isFromCheckpoint ? await loadChoices(operator, id, version) : [],
    now,
    key: randomUUID(),
    form: { ...form, version: version?.toString() },
    state: state !== undefined && state.length <= MAX_STATE_CHARACTERS ? state : undefined,
    recorded: checkpoint && listRecordedResults(checkpoint),
    preview,
  };
}

/** Performs each action; returns the run to show next. */
const ACTION_HANDLERS: Readonly<
  Record<RunAction, (operator: Operator, run: string, form: ActionForm, caller: Caller) => Promise<string>>
> = {
  async cancel(operator, run, { reason }) {
    await operator.cancel(run, reason);
    return run;
  },
  async retry(operator, run) {
    await operator.retry(run);
    return run;
  },
  async signal(operator, run, { name = '', value, id }) {
    await operator.signal(run, { name, value: parseDocument('The value', value ?? 'null'), ...omitUndefined({ id }) });
    return run;
  },
  async rewind(operator, run, { version: given, newKeys, state }) {
    const version = parseVersion(given);
    const edited = await editedState(operator, run, version, state);
    await operator.rewind(run, version, { newKeys: newKeys === 'true', ...omitUndefined({ state: edited }) });
    return run;
  },
  async fork(operator, run, form, { person }) {
    const version = parseVersion(form.version);
    const edited = await editedState(operator, run, version, form.state);
    const toolResults = await editedResults(operator, run, version, form);
    const { id, tags } = form;
    return operator.fork(run, {
      version,
      ...omitUndefined({ state: edited, toolResults, id, tags: parseTags(tags), requestedBy: person }),
    });
  },
};

/** The submitted results that differ from the checkpoint; undefined if none does. */
async function editedResults(operator: Operator, run: string, version: number, form: ActionForm) {
  const given = form.results === undefined ? {} : parseDocument('Results by id', form.results);
  if (!isFields(given)) throw invalidInput('Results by id', 'an object with ids as keys', given);
  const sent = submittedResults(form).map(([id, json]) => [id, parseDocument(`The result of ${id}`, json)] as const);
  const all = [...sent, ...Object.entries(given)];
  if (all.length === 0) return undefined;
  const recorded = new Map(listRecordedResults(await operator.checkpoint(run, version)).map((each) => [each.id, each]));
  for (const [id] of all)
    if (!recorded.get(id)?.isCompleted)
      throw invalidInput('Results by id', `for ids that are recorded at checkpoint ${version}`, id);
  const others = all.filter(([id, value]) => !equal(recorded.get(id)?.value, value));
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/** The submitted state; undefined if it equals that of the checkpoint. */
async function editedState(
  operator: Operator,
  run: string,
  version: number,
  given: string | undefined,
): Promise<Doc | undefined> {
  if (given === undefined) return undefined;
  const state = parseDocument('The state', given);
  return equal(state, (await operator.checkpoint(run, version)).state) ? undefined : state;
}

function parseVersion(given: string | undefined): number {
  const version = parseWholeNumber(given);
  if (version === undefined) throw invalidInput('The checkpoint', 'a version, such as 14', given);
  return version;
}
