import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { agentsForTenant, checkAgent } from '../../http/check-agent.ts';
import type { ApiEnv } from '../../http/request-variables.ts';
import { OPERATE_ROLES, requesterOf, VIEW_ROLES } from '../../http/roles.ts';
import type { Operator } from '../../operator/operator.ts';
import { toEditableJson } from '../json-editor.ts';
import { PATHS, queryString } from '../paths.ts';
import {
  authorize,
  type ConsoleOptions,
  htmlResponse,
  OVERLAP_MS,
  parseDocument,
  parseTags,
  parseWholeNumber,
  readForm,
  redirectTo,
  submitForm,
} from '../request.ts';
import { runsChanges, runsPage } from './runs-page.ts';
import { parseRunsForm, toRunsQuery } from './runs-query.ts';
import { type StartView, startPage } from './start-page.ts';

const PAGE_SIZE = 50;
// Counting reads every counted run, so an open page counts only from time to time.
const COUNT_INTERVAL_MS = 30_000;

// Larger inputs are not edited by hand.
const MAX_INPUT_CHARACTERS = 256 * 1024;

/** How a run was started, to start another one like it. */
async function loadEarlierStart(
  operator: Operator,
  id: string,
): Promise<Pick<StartView, 'agent' | 'from' | 'formValues'>> {
  const { run, agent, input, owner, tags } = await operator.run(id);
  const json = input === undefined ? undefined : toEditableJson(input);
  return {
    agent,
    from: { run, input: json !== undefined && json.length <= MAX_INPUT_CHARACTERS ? json : undefined },
    formValues: omitUndefined({ owner, tags: tags.length > 0 ? tags.join(', ') : undefined }),
  };
}

/** Registers the list of runs and the start form. */
export function runsRoutes(app: Hono<ApiEnv>, options: ConsoleOptions): void {
  const { runtime, agents } = options;
  const now = () => new Date(runtime.clock.now());
  const known = async () => (await agents?.()) ?? [];

  app.get('/runs', async (context) => {
    const { caller, operator } = authorize(context, VIEW_ROLES);
    const form = parseRunsForm(new URL(context.req.url).searchParams);
    const cursor = context.req.query('cursor');
    const [found, counts, agentsOffered] = await Promise.all([
      operator.runs({ ...toRunsQuery(form, now()), limit: PAGE_SIZE, ...omitUndefined({ cursor }) }),
      cursor === undefined ? operator.counts() : undefined,
      known(),
    ]);
    const names = agentsForTenant(agentsOffered, caller.tenant).map(({ name }) => name);
    return htmlResponse(context, runsPage({ caller, form, found, counts, cursor, agents: names, now: now() }));
  });

  app.get('/changes', async (context) => {
    const { operator } = authorize(context, VIEW_ROLES);
    const { status, ...form } = parseRunsForm(new URL(context.req.url).searchParams);
    const [since, counted] = [context.req.query('since'), context.req.query('counted')].map(
      (text) => parseWholeNumber(text) ?? 0,
    );
    const asked = toRunsQuery(form, now());
    const from = Math.max((since ?? 0) - OVERLAP_MS, asked.since?.getTime() ?? 0);
    // Any status: a run on the page may have left the filtered status.
    const { runs } = await operator.runs({ ...asked, since: new Date(from), limit: 100 });
    const isNew = runs.some(({ updatedAt }) => updatedAt.getTime() > (since ?? 0));
    const counts = isNew && now().getTime() - (counted ?? 0) > COUNT_INTERVAL_MS ? await operator.counts() : undefined;
    const changes = runsChanges({ ...form, ...omitUndefined({ status }) }, runs, {
      since: since ?? 0,
      counted: counted ?? 0,
      isEmpty: context.req.query('empty') === 'true',
      counts,
      now: now(),
    });
    return changes ? htmlResponse(context, changes) : context.body(null, 204);
  });

  app.get('/start', async (context) => {
    const { caller, operator } = authorize(context, OPERATE_ROLES);
    const { agent, from } = context.req.query();
    const again = from === undefined ? undefined : await loadEarlierStart(operator, from);
    const agents = agentsForTenant(await known(), caller.tenant);
    return htmlResponse(context, startPage({ caller, agents, agent, key: randomUUID(), ...again }));
  });

  app.post('/start', async (context) => {
    const { caller, operator } = authorize(context, OPERATE_ROLES);
    const form = await readForm(context);
    const all = await known();
    const agentsOffered = agentsForTenant(all, caller.tenant);
    return submitForm(
      context,
      async () => {
        const { agent = '', id, owner, key } = form;
        await checkAgent(options, caller.tenant, agent);
        const input = parseDocument('The input', form.input ?? '');
        const tags = parseTags(form.tags);
        const requestedBy = requesterOf(caller, form.requestedBy?.trim() || undefined);
        const started = await operator.start({ agent, input, ...omitUndefined({ id, owner, requestedBy, key, tags }) });
        return redirectTo(
          context,
          `${PATHS.run(started.run)}${queryString({ done: started.isNew ? 'start' : 'existing' })}`,
        );
      },
      async (problem) => startPage({ caller, agents: agentsOffered, formValues: form, problem, key: randomUUID() }),
    );
  });
}
