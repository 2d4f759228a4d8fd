import type { Hono } from 'hono';
import { checkPerson, type Person } from '../../../core/approval.ts';
import { requireDelegationEnder, requireDelegator } from '../../../http/delegation-access.ts';
import type { ApiEnv } from '../../../http/request-variables.ts';
import { DECIDE_ROLES, hasRole, INBOX_ROLES, OPERATE_ROLES } from '../../../http/roles.ts';
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
import { type AwayPageOptions, awayPage } from './away-page.ts';
import { parseLocalTime } from './local-time.ts';

/** Registers the page on which people say who answers for them. */
export function awayRoutes(app: Hono<ApiEnv>, { runtime }: ConsoleOptions): void {
  const now = () => new Date(runtime.clock.now());

  app.get('/away', async (context) => htmlResponse(context, awayPage(await loaded(context, now()))));

  app.post('/away', async (context) => {
    const { caller, operator } = authorize(context, DECIDE_ROLES);
    const form = await readForm(context);
    const person = caller.decidesForOthers ? form.person?.trim() : undefined;
    return submitForm(
      context,
      async () => {
        await operator.delegate({
          ...requireDelegator(caller, { person, createdBy: undefined, groups: undefined }),
          delegate: checkPerson('Who answers', form.delegate?.trim()),
          until: parseLocalTime('Until', form.until ?? '', form['until-offset']),
          ...(form.from ? { from: parseLocalTime('From', form.from, form['from-offset']) } : {}),
        });
        return redirectTo(context, `${PATHS.away}${queryString({ as: person })}`);
      },
      async (problem) => awayPage({ ...(await loaded(context, now())), problem, formValues: form }),
    );
  });

  app.post('/away/end', async (context) => {
    const { caller, operator } = authorize(context, DECIDE_ROLES);
    const person = checkPerson('The person', (await readForm(context)).person);
    await requireDelegationEnder(caller, operator, person);
    await operator.endDelegation(person);
    return redirectTo(context, `${PATHS.away}${queryString({ as: caller.decidesForOthers ? person : undefined })}`);
  });
}

/** The delegations of a person; of everybody, for callers who have no name and can see them. */
async function loaded(context: ConsoleContext, now: Date): Promise<AwayPageOptions> {
  const { caller, operator } = authorize(context, INBOX_ROLES);
  const as = caller.decidesForOthers ? context.req.query('as')?.trim() : undefined;
  const person: Person | undefined = as ? checkPerson('The person', as) : caller.person;
  const seesAll = caller.decidesForOthers || hasRole(caller, OPERATE_ROLES);
  const delegations =
    person !== undefined ? await operator.delegations({ person }) : seesAll ? await operator.delegations() : [];
  return { caller, person, delegations, now };
}
