import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { present } from '../../core/omit-undefined.ts';
import { checkAgent, offeredTo } from '../../http/check-agent.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { LOOK, OPERATE } from '../../http/roles.ts';
import { PATHS, query } from '../paths.ts';
import {
  admitted,
  answer,
  type ConsoleOptions,
  documentIn,
  formIn,
  goTo,
  numberIn,
  OVERLAP_MS,
  tagsIn,
  tried,
} from '../request.ts';
import { runsChanges, runsPage } from './runs-page.ts';
import { runsForm, runsQuery } from './runs-query.ts';
import { startPage } from './start-page.ts';

const PAGE = 50;
// Counting reads all that it counts, so a page that is open counts only now and then.
const COUNT_EVERY_MS = 30_000;

/** The list of runs, and the form that starts one. */
export function runsRoutes(app: Hono<ApiEnv>, { runtime, agents }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());
  const known = async () => (await agents?.()) ?? [];

  app.get('/runs', async (context) => {
    const { caller, desk } = admitted(context, LOOK);
    const form = runsForm(new URL(context.req.url).searchParams);
    const cursor = context.req.query('cursor');
    const [found, counts, offered] = await Promise.all([
      desk.runs({ ...runsQuery(form, now()), limit: PAGE, ...present({ cursor }) }),
      cursor === undefined ? desk.counts() : undefined,
      known(),
    ]);
    const names = offeredTo(offered, caller.tenant).map(({ name }) => name);
    return answer(context, runsPage({ caller, form, found, counts, cursor, agents: names, now: now() }));
  });

  app.get('/changes', async (context) => {
    const { desk } = admitted(context, LOOK);
    const { status, ...form } = runsForm(new URL(context.req.url).searchParams);
    const [since, counted] = [context.req.query('since'), context.req.query('counted')].map(
      (text) => numberIn(text) ?? 0,
    );
    const asked = runsQuery(form, now());
    const from = Math.max((since ?? 0) - OVERLAP_MS, asked.since?.getTime() ?? 0);
    // Of any status: what no longer has the one that is looked for is on the page still.
    const { runs } = await desk.runs({ ...asked, since: new Date(from), limit: 100 });
    const isNew = runs.some(({ touchedAt }) => touchedAt.getTime() > (since ?? 0));
    const counts = isNew && now().getTime() - (counted ?? 0) > COUNT_EVERY_MS ? await desk.counts() : undefined;
    const changes = runsChanges({ ...form, ...present({ status }) }, runs, {
      since: since ?? 0,
      counted: counted ?? 0,
      isEmpty: context.req.query('empty') === 'true',
      counts,
      now: now(),
    });
    return changes ? answer(context, changes) : context.body(null, 204);
  });

  app.get('/start', async (context) => {
    const { caller } = admitted(context, OPERATE);
    return answer(
      context,
      startPage({
        ...{ caller, agents: offeredTo(await known(), caller.tenant) },
        ...{ agent: context.req.query('agent'), key: randomUUID() },
      }),
    );
  });

  app.post('/start', async (context) => {
    const { caller, desk } = admitted(context, OPERATE);
    const form = await formIn(context);
    const all = await known();
    const offered = offeredTo(all, caller.tenant);
    return tried(
      context,
      async () => {
        const { agent = '', id, owner, key } = form;
        checkAgent(all, caller.tenant, agent);
        const input = documentIn('The input', form.input ?? '');
        const tags = tagsIn(form.tags);
        const started = await desk.start({ agent, input, ...present({ id, owner, key, tags }) });
        return goTo(context, `${PATHS.run(started.run)}${query({ done: started.isNew ? 'start' : 'again' })}`);
      },
      async (problem) => startPage({ caller, agents: offered, given: form, problem, key: randomUUID() }),
    );
  });
}
