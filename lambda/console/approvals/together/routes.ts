import type { Hono } from 'hono';
import { invalidInput } from '../../../core/invalid-input.ts';
import { omitUndefined } from '../../../core/omit-undefined.ts';
import type { Caller } from '../../../http/caller.ts';
import { reportDecisions } from '../../../http/report-decisions.ts';
import type { ApiEnv } from '../../../http/request-variables.ts';
import { DECIDE_ROLES } from '../../../http/roles.ts';
import { PATHS, queryString } from '../../paths.ts';
import {
  authorize,
  type ConsoleContext,
  type ConsoleOptions,
  htmlResponse,
  readForm,
  redirectTo,
  submitForm,
} from '../../request.ts';
import { whoAnswers } from '../who-answers.ts';
import { resultsPage } from './results-page.ts';
import { loadReview, loadTitles } from './review.ts';
import { pickedIn, shownIn, toListValue } from './selection.ts';
import { togetherPage } from './together-page.ts';

type Form = Readonly<Record<string, string>>;

/** Registers the page that decides several requests together. It is opened by a form, whose list can be too long for a URL. */
export function togetherRoutes(app: Hono<ApiEnv>, { runtime, telemetry }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());
  const PATH = '/inbox/decide';

  app.get(PATH, (context) => redirectTo(context, PATHS.inbox));

  app.post(PATH, async (context) => {
    const { caller, operator } = authorize(context, DECIDE_ROLES);
    const form = await readForm(context);
    if (form.answer === undefined) {
      if (pickedIn(form).length === 0)
        return redirectTo(context, `${PATHS.inbox}${queryString({ as: asIn(caller, form), selected: 'none' })}`);
      return htmlResponse(context, togetherPage(await review(context, form, now())));
    }
    return submitForm(
      context,
      async () => {
        const { answer, comment } = form;
        if (answer !== 'approve' && answer !== 'reject')
          throw invalidInput('`answer`', '"approve" or "reject"', answer);
        const approvals = shownIn(form);
        if (approvals.length === 0) throw invalidInput('The selection', 'at least one request', 'none');
        const who = whoAnswers(caller, form.member ?? form.by);
        const results = await operator.decideAll({ ...who, answer, approvals, ...omitUndefined({ comment }) });
        reportDecisions(telemetry, results);
        const as = caller.decidesForOthers ? who.by : undefined;
        const titles = await loadTitles({ caller, operator }, results);
        return htmlResponse(context, resultsPage({ caller, results, titles, by: who.by, as }));
      },
      async (problem) => {
        const checked = new Set(shownIn(form).map((each) => toListValue([each])));
        return togetherPage({ ...(await review(context, form, now())), problem, checked, formValues: form });
      },
    );
  });
}

/** The person whose inbox the requests come from, if the caller may decide for others. */
const asIn = ({ decidesForOthers }: Caller, { as }: Form): string | undefined => (decidesForOthers ? as : undefined);

async function review(context: ConsoleContext, form: Form, now: Date) {
  const { caller, operator } = authorize(context, DECIDE_ROLES);
  const as = asIn(caller, form);
  const loaded = await loadReview({ caller, operator, person: as ?? caller.person }, pickedIn(form));
  return { ...loaded, caller, as, now };
}
