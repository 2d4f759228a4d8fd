import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { type Doc, equal, isFields } from '../../checkpoints/document/document.ts';
import { refused } from '../../core/invalid-input.ts';
import { present } from '../../core/omit-undefined.ts';
import { HttpError } from '../../http/problem.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { LOOK, OPERATE } from '../../http/roles.ts';
import type { Desk, RunView } from '../../operator/operator.ts';
import { recordedOf } from '../../operator/recorded-results.ts';
import { jsonText } from '../json-editor.ts';
import { PATHS, query } from '../paths.ts';
import {
  admitted,
  answer,
  type ConsoleContext,
  type ConsoleOptions,
  documentIn,
  formIn,
  goTo,
  idIn,
  numberIn,
  tagsIn,
  tried,
} from '../request.ts';
import { type Action, type ActionForm, type ActionView, actionPage } from './action-page.ts';
import { type CheckpointPageView, checkpointPage, memoryPage, piecePage } from './checkpoint-page.ts';
import { differencePage } from './difference-page.ts';
import { lineagePage } from './lineage-page.ts';
import { questionsPage } from './questions-page.ts';
import { resultsIn } from './result-editors.ts';
import { type Known, PAGE, runChanges, runPage } from './run-page.ts';

/** The pages of one run. */
export function runRoutes(app: Hono<ApiEnv>, { runtime }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());

  app.get('/runs/:run', async (context) => {
    const [caller, desk, id] = looking(context);
    const run = await desk.run(id);
    const to = Math.min(numberIn(context.req.query('to')) ?? run.version, run.version);
    const checkpoints = await checkpointsUpTo(desk, run, Math.max(1, to));
    return answer(context, runPage({ caller, run, checkpoints, done: context.req.query('done'), now: now() }));
  });

  app.get('/runs/:run/changes', async (context) => {
    const [caller, desk, id] = looking(context);
    const known = knownIn(context);
    const run = await desk.run(id);
    if (run.version === known.version && run.status === known.status) return context.body(null, 204);
    const { checkpoints } = await desk.history(id, { from: Math.max(1, known.version), limit: PAGE });
    return answer(context, runChanges({ caller, run, checkpoints, now: now() }, known));
  });

  app.get('/runs/:run/checkpoints/:version', async (context) => {
    const [caller, desk, id] = looking(context);
    const version = numberIn(idIn(context, 2)) ?? 0;
    const [checkpoint, newest] = await Promise.all([desk.checkpoint(id, version), newestOf(desk, id)]);
    return checkpointAnswer(context, { caller, checkpoint, newest, now: now() });
  });

  app.get('/runs/:run/diff', async (context) => {
    const [caller, desk, run] = looking(context);
    const [before = 0, after = 0] = ['before', 'after'].map((name) => numberIn(context.req.query(name)) ?? 0);
    const difference = await desk.diff(run, before, after);
    return answer(context, differencePage({ caller, run, before, after, difference }));
  });

  app.get('/runs/:run/questions', async (context) => {
    const [caller, desk, id] = looking(context);
    return answer(context, questionsPage(caller, id, await desk.approvals(id), now()));
  });

  app.get('/runs/:run/lineage', async (context) => {
    const [caller, desk, id] = looking(context);
    return answer(context, lineagePage(caller, id, await desk.lineage(id)));
  });

  for (const action of Object.keys(DOING) as readonly Action[]) {
    app.get(`/runs/:run/${action}`, async (context) =>
      answer(context, actionPage(action, await viewed(context, action, context.req.query()))),
    );
    app.post(`/runs/:run/${action}`, async (context) => {
      const { desk } = admitted(context, OPERATE);
      const form = await formIn(context);
      return tried(
        context,
        async () => {
          const run = await DOING[action](desk, idIn(context), form);
          return goTo(context, `${PATHS.run(run)}${query({ done: action })}`);
        },
        async (problem) => actionPage(action, { ...(await viewed(context, action, form)), problem }),
      );
    });
  }
}

function looking(context: ConsoleContext) {
  const { caller, desk } = admitted(context, LOOK);
  return [caller, desk, idIn(context)] as const;
}

/** A page of checkpoints, with one before them where a stretch begins. */
async function checkpointsUpTo(desk: Desk, { run }: RunView, to: number) {
  const from = Math.max(1, to - PAGE);
  return (await desk.history(run, { from, to, limit: PAGE + 1 })).checkpoints;
}

const newestOf = async (desk: Desk, run: string): Promise<number> =>
  (await desk.history(run, { newestFirst: true, limit: 1 })).checkpoints[0]?.version ?? 0;

/** What a page that is open says that it knows; what it says wrong only it shows wrong. */
function knownIn({ req }: ConsoleContext): Known {
  const number = (name: string) => numberIn(req.query(name)) ?? 0;
  const totals = {
    ...{ step: number('step'), waiting: number('waiting'), queued: number('queued') },
    ...{ failure: number('failure'), crash: number('crash'), change: number('change') },
  };
  return { version: number('version'), status: req.query('status') ?? '', first: number('first'), totals };
}

async function checkpointAnswer(context: ConsoleContext, view: CheckpointPageView): Promise<Response> {
  const { part, at = '', from } = context.req.query();
  if (part === 'memory') return answer(context, memoryPage(view));
  if (part !== 'state' && part !== 'results') return answer(context, checkpointPage(view));
  const piece = piecePage(view, part, at, numberIn(from) ?? 0);
  if (!piece) throw new HttpError(404, 'PART_NOT_FOUND', `The checkpoint has nothing at "${at}".`);
  return answer(context, piece);
}

// What is larger is no text that somebody edits by hand.
const MOST_STATE = 256 * 1024;

/** What the page of an action shows. */
async function viewed(context: ConsoleContext, action: Action, form: ActionForm): Promise<ActionView> {
  const { caller, desk } = admitted(context, OPERATE);
  const id = idIn(context);
  const run = await desk.run(id);
  const version = numberIn(form.version);
  const isEdited = action === 'fork' || (action === 'rewind' && run.isDurable);
  const checkpoint = isEdited ? await desk.checkpoint(id, version) : undefined;
  const state = checkpoint && jsonText(checkpoint.state);
  return {
    ...{ caller, run, key: randomUUID() },
    form: { ...form, version: version?.toString() },
    state: state !== undefined && state.length <= MOST_STATE ? state : undefined,
    recorded: checkpoint && recordedOf(checkpoint),
  };
}

/** What each form does; gives the run to look at then. */
const DOING: Readonly<Record<Action, (desk: Desk, run: string, form: ActionForm) => Promise<string>>> = {
  async cancel(desk, run, { reason }) {
    await desk.cancel(run, reason);
    return run;
  },
  async retry(desk, run) {
    await desk.retry(run);
    return run;
  },
  async signal(desk, run, { name = '', value, id }) {
    await desk.signal(run, { name, value: documentIn('The value', value ?? 'null'), ...present({ id }) });
    return run;
  },
  async rewind(desk, run, { version: given, newKeys, state }) {
    const version = versionIn(given);
    const edited = await editedState(desk, run, version, state);
    await desk.rewind(run, version, { newKeys: newKeys === 'true', ...present({ state: edited }) });
    return run;
  },
  async fork(desk, run, form) {
    const version = versionIn(form.version);
    const edited = await editedState(desk, run, version, form.state);
    const toolResults = await editedResults(desk, run, version, form);
    const { id, tags } = form;
    return desk.fork(run, { version, ...present({ state: edited, toolResults, id, tags: tagsIn(tags) }) });
  },
};

/** The results of a form that are others than those of the checkpoint; undefined when none is. */
async function editedResults(desk: Desk, run: string, version: number, form: ActionForm) {
  const given = form.results === undefined ? {} : documentIn('Results by id', form.results);
  if (!isFields(given)) throw refused('Results by id', 'an object, by id', given);
  const sent = resultsIn(form).map(([id, json]) => [id, documentIn(`What ${id} gave`, json)] as const);
  const all = [...sent, ...Object.entries(given)];
  if (all.length === 0) return undefined;
  const recorded = new Map(recordedOf(await desk.checkpoint(run, version)).map((each) => [each.id, each]));
  for (const [id] of all)
    if (!recorded.get(id)?.isOver)
      throw refused('Results by id', `of ids that are recorded at checkpoint ${version}`, id);
  const others = all.filter(([id, value]) => !equal(recorded.get(id)?.value, value));
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/** The state of a form, unless it is that of the checkpoint. */
async function editedState(
  desk: Desk,
  run: string,
  version: number,
  given: string | undefined,
): Promise<Doc | undefined> {
  if (given === undefined) return undefined;
  const state = documentIn('The state', given);
  return equal(state, (await desk.checkpoint(run, version)).state) ? undefined : state;
}

function versionIn(given: string | undefined): number {
  const version = numberIn(given);
  if (version === undefined) throw refused('The checkpoint', 'a version, such as 14', given);
  return version;
}
