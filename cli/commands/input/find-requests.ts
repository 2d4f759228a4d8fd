import type { Person } from '../../../lambda/core/approval.ts';
import { canVote, canVoteFor } from '../../../lambda/core/can-vote.ts';
import { isWaitstateError, WaitstateError } from '../../../lambda/core/errors.ts';
import type { ApprovalDocument } from '../../../lambda/operator/approval-document.ts';
import type { Operator } from '../../../lambda/operator/operator.ts';
import type { ShownApproval } from '../../../lambda/runtime/approvals/decide-all.ts';
import type { Session } from '../../session.ts';
import { dim } from '../../terminal/line.ts';
import { readTextFile } from './json-argument.ts';
import { parseJson } from './parse-json.ts';

/** Which requests to decide: all of one kind, or those of a file. */
export interface RequestSelection {
  readonly agent?: string;
  readonly name?: string;
  readonly from?: string;
}

/** A request, and the hash of what was seen of it. */
export interface ListedRequest extends ShownApproval {
  /** As it is now; absent if it cannot be read. */
  readonly found?: ApprovalDocument | undefined;
}

const MAX_LISTED = 100;

/** Finds the requests that a person can decide; throws APPROVAL_NOT_FOUND if there are none. */
export async function findRequests(
  session: Session,
  operator: Operator,
  selection: RequestSelection & {
    readonly by: Person;
    readonly for?: Person | undefined;
    readonly groups?: readonly string[] | undefined;
  },
): Promise<readonly ListedRequest[]> {
  const { agent, name, from, by, for: person, groups } = selection;
  if (from !== undefined) {
    if (agent !== undefined || name !== undefined)
      throw new WaitstateError('INVALID_INPUT', 'Use either --from, or --agent and --name, not both.');
    return readRequests(session, operator, from);
  }
  if (agent === undefined || name === undefined)
    throw new WaitstateError(
      'INVALID_INPUT',
      'Name a run. To decide several requests, pass --agent and --name, or a file with --from.',
    );
  const pending = await operator.pendingApprovals({ agent, name, limit: MAX_LISTED });
  const awayPeople = person === undefined ? await answersFor(session, operator, by) : [person];
  const own = pending.filter(
    (approval) =>
      (person === undefined && canVote(approval, by, groups)) ||
      awayPeople.some((each) => canVoteFor(approval, by, each)),
  );
  if (own.length === 0)
    throw new WaitstateError(
      'APPROVAL_NOT_FOUND',
      `Agent "${agent}" has no pending request "${name}" that ${by} can decide${person === undefined ? '' : ` for ${person}`}${groups || person !== undefined ? '.' : '. Pass --group if they belong to a group of approvers.'}`,
    );
  if (pending.length === MAX_LISTED && !session.isJson)
    session.terminal.printErr(dim(`These are the first ${MAX_LISTED}. Run the command again for the others.`));
  return own.map((found) => ({ run: found.run, approval: found.id, contentHash: found.contentHash, found }));
}

/** The people for whom someone can decide now. */
async function answersFor({ terminal }: Session, operator: Operator, delegate: Person): Promise<readonly Person[]> {
  const delegations = await operator.delegations({ person: delegate });
  return delegations
    .filter((each) => each.delegate === delegate && each.from.getTime() <= terminal.now())
    .map((each) => each.person);
}

/** Reads requests from lines of JSON, as `waitstate approvals --json` prints them, and what they show now. */
async function readRequests(
  { terminal }: Session,
  operator: Operator,
  file: string,
): Promise<readonly ListedRequest[]> {
  const source = file === '-' ? 'Standard input' : `The file ${file}`;
  const text = file === '-' ? await terminal.readInput() : readTextFile(file);
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length === 0) throw new WaitstateError('INVALID_INPUT', `${source} is empty; ${EXPECTED}`);
  const requests = lines.map((line, i) => parseRequest(line, `Line ${i + 1} of ${source.toLowerCase()}`));
  const listed: ListedRequest[] = [];
  for (const request of requests) {
    const found = await operator.approval(request.run, request.approval).catch((error: unknown) => {
      if (isWaitstateError(error)) return undefined;
      throw error;
    });
    listed.push({ ...request, found });
  }
  return listed;
}

const EXPECTED =
  'each line must be JSON with `run`, `id` and `contentHash`, as "waitstate approvals --json" prints it.';

function parseRequest(line: string, source: string): ShownApproval {
  const { run, id, approval = id, contentHash } = Object(parseJson(line, source)) as Record<string, unknown>;
  if (typeof run !== 'string' || typeof approval !== 'string' || typeof contentHash !== 'string')
    throw new WaitstateError('INVALID_INPUT', `${source} names no request: ${EXPECTED}`);
  return { run, approval, contentHash };
}
