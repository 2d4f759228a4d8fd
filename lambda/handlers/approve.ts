import type { Contexts } from '../checkpoints/contexts.ts';
import { HoldpointError } from '../core/errors.ts';
import { refused } from '../core/input.ts';
import type { AnswerInput } from '../runtime/approvals/decide.ts';
import { decideByToken, viewByToken } from '../runtime/approvals/tokens.ts';
import { approvalJson } from './approval-json.ts';
import { answer, asOurs, type HttpAnswer, type HttpEvent, problem, readFields, TooLarge } from './http.ts';
import { notDone } from './not-done.ts';
import { type Observing, observingOf } from './observing.ts';
import { contextsOf, wired } from './wired.ts';

export interface Approving {
  readonly contexts: Contexts;
  readonly observing: Observing;
}

const MOST_BYTES = 100 * 1024;

/** The webhook of links: GET shows what is asked and changes nothing, POST decides. */
export const createApprove =
  ({ contexts, observing }: Approving) =>
  (event: HttpEvent): Promise<HttpAnswer> =>
    observing.invocation(async () => {
      const method = event.requestContext?.http?.method ?? 'GET';
      const token = event.pathParameters?.token ?? '';
      try {
        if (method === 'POST') {
          const given = readAnswer(readFields(event, MOST_BYTES));
          const decided = await decideByToken(await contexts.context(), token, given);
          observing.count('ApprovalAnswered');
          return answer(200, approvalJson(decided));
        }
        if (method !== 'GET' && method !== 'HEAD') return problem(NOT_ALLOWED, 405, { allow: 'GET, HEAD, POST' });
        const shown = answer(200, approvalJson(await viewByToken(await contexts.context(), token)));
        return method === 'HEAD' ? { ...shown, body: '' } : shown;
      } catch (error) {
        if (error instanceof TooLarge) return problem(TOO_LARGE, 413);
        notDone(observing, error, { method });
        return problem(asOurs(error));
      }
    });

const NOT_ALLOWED = new HoldpointError('INVALID_INPUT', 'Use GET to see what is asked, and POST to answer.');
const TOO_LARGE = new HoldpointError('INVALID_INPUT', `An answer has at most ${MOST_BYTES} bytes. Say less.`);

const FIELDS = ['answer', 'comment', 'edits', 'shown'];

function readAnswer(fields: Readonly<Record<string, unknown>>): AnswerInput {
  const unknown = Object.keys(fields).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw refused('An answer', `made of ${FIELDS.join(', ')}`, unknown);
  const { answer: given, comment, edits, shown } = fields;
  if (given !== 'approve' && given !== 'reject') throw refused('`answer`', '"approve" or "reject"', given);
  // What the rest must be is checked where it is used.
  return { answer: given, comment: comment as string | undefined, edits, shown: shown as string | undefined };
}

export const handler = wired((environment) =>
  createApprove({ contexts: contextsOf(environment), observing: observingOf('approve') }),
);
