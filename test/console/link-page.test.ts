import { describe, expect, it } from 'vitest';
import { adopt, type Doc } from '../../lambda/checkpoints/document/document.ts';
import { linkPage } from '../../lambda/console/link-page.ts';
import { problemPage } from '../../lambda/console/problem-page.ts';
import type { Status } from '../../lambda/core/status.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import { caller } from './scene.ts';
import { textOf, wholePage } from './well-formed.ts';

const NOW = new Date('2026-05-01T12:00:00Z');
const TOKEN = 'the-secret-of-the-link';

const question: ApprovalDocument = {
  ...{
    tenant: 'default',
    run: 'trip-42',
    id: 'book',
    agent: 'travel',
    name: 'book',
    requestNumber: 1,
    status: 'PENDING',
  },
  title: 'Book for $1,200?',
  show: adopt({ route: 'BER to LIS', seat: { $: ['payload', 'p1', 'hash', 300, 'image/png', 'The seat'] } } as Doc),
  facts: adopt({ price: 1200 }) as Readonly<Record<string, Doc>>,
  ...{ contentHash: 'abc123', approvers: ['user:ann', 'user:bob'], quorum: 1, editable: true, votes: [] },
  requestedAt: new Date('2026-05-01T09:00:00Z'),
  deadline: new Date('2026-05-02T09:00:00Z'),
};

const shown = (
  fields: Partial<ApprovalDocument> = {},
  options: Partial<Parameters<typeof linkPage>[1]> = {},
  status: Status = 'WAITING_FOR_APPROVAL',
): string => {
  const link = { approval: { ...question, ...fields }, person: 'user:ann', run: { status, agent: 'travel' } };
  const page = String(linkPage(link, { token: TOKEN, now: NOW, ...options }));
  wholePage(page);
  return page;
};

const VOTE = { counts: true, by: 'user:ann', answer: 'approve', at: NOW } as const;

describe('the page of an approval link', () => {
  it('shows the request, and posts to its own URL with the hash of what is shown', () => {
    const page = shown();
    expect(textOf(page)).toMatch(
      /travel requests approval · run trip-42 Book for \$1,200\? Requested 3 h ago \( 1 May 2026, 09:00 UTC \) Decide by in 21 h/,
    );
    expect(page).toContain(`<form method="post" action="/approvals/${TOKEN}" class="stack">`);
    expect(page).toContain('<input type="hidden" name="contentHash" value="abc123">');
    for (const answer of ['approve', 'reject']) expect(page).toContain(`name="answer" value="${answer}"`);
    expect(textOf(page)).toContain('You decide as user:ann');
  });

  it('leaks its URL to nobody, and has no link that needs a login', () => {
    const page = shown();
    expect(page).toContain('<meta name="referrer" content="no-referrer">');
    expect(page.split(TOKEN)).toHaveLength(4);
    expect(page).toContain(`src="/approvals/${TOKEN}/payloads/p1"`);
    expect(page).not.toContain('/console');
  });

  it('offers the JSON to copy if the approval is editable, and no editor otherwise', () => {
    expect(shown()).toContain('id="edits-source" hidden>{\n  &quot;price&quot;: 1200\n}');
    expect(shown({ editable: false })).not.toContain('name="edits"');
    const special = { facts: { when: { $: ['date', 0] } } as Readonly<Record<string, Doc>> };
    expect(shown({ ...special, show: null })).not.toContain('&quot;$&quot;');
  });

  it('explains what is wrong with a decision, and keeps what the user typed', () => {
    const problem = { status: 400, title: 'Invalid input', detail: '`edits` must be JSON.' };
    const page = shown({}, { problem, formValues: { comment: 'Cheaper!', edits: '{"price": }' } });
    expect(textOf(page)).toMatch(/Invalid input `edits` must be JSON\..*Cheaper!.*Line 1, column 11/);
    expect(page).toContain('role="alert"');
  });

  it('says that approval is requested again, without a link that needs a login', () => {
    const changed = { before: adopt({ price: 1200 }), after: adopt({ price: 1500 }) };
    const link = {
      approval: { ...question, status: 'APPROVED', outcome: 'approve', votes: [VOTE] } as const,
      ...{ person: 'user:ann', run: { status: 'WAITING_FOR_APPROVAL' } as const },
      followUp: { ...question, id: 'book~2', requestNumber: 2, changed },
    };
    const page = String(linkPage(link, { token: TOKEN, now: NOW }));
    expect(textOf(page)).toMatch(
      /requested again .*Meanwhile, these facts changed: price\. The approvers receive a new link\./,
    );
    expect(page).not.toContain('/console');
  });

  it('follows the run after the decision, and stops when it has ended', () => {
    const decided = { status: 'APPROVED', outcome: 'approve', endedAt: NOW, votes: [VOTE] } as const;
    const page = shown(decided, { wasJustDecided: true }, 'RUNNING');
    expect(textOf(page)).toMatch(/Decided: Book for .*Approved By user:ann , just now .*Run status: Running Refresh/);
    expect(page).toContain('data-live=""');
    expect(page).not.toContain('<form');
    const ended = shown(decided, {}, 'SUCCEEDED');
    expect(textOf(ended)).toContain('The run has ended: Succeeded');
    expect(ended).not.toContain('data-live');
  });

  it.each([
    [
      'a rejected approval',
      { status: 'REJECTED', outcome: 'reject', endedAt: NOW, votes: [{ ...VOTE, by: 'user:bob', answer: 'reject' }] },
      /Rejected By user:bob/,
    ],
    [
      'an expired approval that counts as rejected',
      { status: 'EXPIRED', outcome: 'reject', endedAt: NOW },
      /Expired: no decision in time .*continues as if it was rejected/,
    ],
    [
      'an expired approval that counts as approved',
      { status: 'EXPIRED', outcome: 'approve', endedAt: NOW },
      /Approved automatically: no decision in time/,
    ],
    ['an expired approval that fails the run', { status: 'EXPIRED', outcome: 'fail', endedAt: NOW }, /The run fails\./],
    [
      'a withdrawn approval',
      { status: 'WITHDRAWN', outcome: 'reject', endedAt: NOW, withdrawalReason: 'The run was rewound.' },
      /Withdrawn: no decision is needed .*The run was rewound\./,
    ],
    [
      'an approval that needs another vote',
      { quorum: 2, votes: [VOTE] },
      /You approved this Your decision is recorded. 1 more approval needed/,
    ],
  ] as const)('shows the outcome of %s', (_, fields, expected) => {
    const page = shown(fields as Partial<ApprovalDocument>);
    expect(textOf(page)).toMatch(expected);
    expect(page).not.toContain('name="answer"');
  });
});

describe('an error page', () => {
  it('says what happened, and links to the console for known callers', () => {
    const problem = { status: 404, title: 'Approval not found', detail: 'The link <b>opens</b> nothing.' };
    const page = String(problemPage(problem));
    wholePage(page);
    expect(textOf(page)).toContain('404 Approval not found The link <b>opens</b> nothing.');
    expect(page).not.toContain('/console');
    expect(String(problemPage(problem, caller()))).toContain('href="/console"');
  });
});
