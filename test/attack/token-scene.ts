import { createApi } from '../../lambda/api/app.ts';
import type { Approver, Person } from '../../lambda/core/approval.ts';
import { agent, payload } from '../../lambda/index.ts';
import type { ApprovalDocument } from '../../lambda/operator/approval-document.ts';
import { createOperator } from '../../lambda/operator/create-operator.ts';
import { sweepDue } from '../../lambda/runtime/control/sweep.ts';
import type { Delivery } from '../../lambda/runtime/runtime.ts';
import type { Storage } from '../../lambda/storage/ports.ts';
import { TestClock } from '../../lambda/testing.ts';
import { caller } from '../api/scene.ts';
import { linkFor } from '../runtime/approvals/scene.ts';
import { type Calls, counted } from '../runtime/storages.ts';

export const DAY = 86_400_000;

/** A clock that advances a little with every reading, once it is started. */
class TickingClock extends TestClock {
  tickMs = 0;

  override now(): number {
    const now = super.now();
    if (this.tickMs > 0) this.moveTo(now + this.tickMs);
    return now;
  }
}

interface Payment {
  readonly approvers?: readonly Approver[];
  readonly quorum?: number;
}

/** The response to a request by link. */
export interface TokenResponse {
  readonly status: number;
  readonly code: string | undefined;
  readonly approval: ApprovalDocument | undefined;
  /** The complete response, including headers. */
  readonly whole: string;
}

/** An agent that asks for approval before it pays, a count of its payments, and links to its approvals. */
export function tokenScene(given: Storage) {
  const { storage, calls } = counted(given);
  const clock = new TickingClock(Date.parse('2026-05-01T10:00:00Z'));
  const logged: string[] = [];
  const queue: Delivery[] = [];
  const paid = new Map<string, number>();
  const tokens: string[] = [];
  const payments = agent(
    {
      name: 'payments',
      async run(ctx, { approvers = ['user:ann', 'user:bob'], quorum = 1 }: Payment) {
        const { approved } = await ctx.approval('pay', {
          ...{ title: `Pay for ${ctx.run}?`, approvers, quorum, timeout: { days: 1 }, editable: true },
          show: { bill: payload(`bill of ${ctx.run}`) },
        });
        if (approved) await ctx.step('pay', () => void paid.set(ctx.run, (paid.get(ctx.run) ?? 0) + 1));
        return approved;
      },
    },
    { storage, clock, deliver: async (delivery) => void queue.push(delivery), log: () => {}, random: () => 0.5 },
  );
  const { runtime, store } = payments;
  const operator = createOperator(runtime);
  const app = createApi({
    runtime,
    identify: () => caller(),
    telemetry: {
      log: (level, message, fields) => void logged.push(JSON.stringify({ level, message, ...fields })),
      count: () => {},
    },
  });

  /** Runs every READY run until it suspends or ends; each delivery happens twice at the same time. */
  async function settle(): Promise<void> {
    for (let next = queue.splice(0); next.length > 0; next = queue.splice(0)) {
      const until = clock.now() + 900_000;
      await Promise.all(
        next.flatMap((delivery, i) => ['a', 'b'].map((by) => payments.invoke(delivery, { by: `${by}${i}`, until }))),
      );
    }
  }

  async function request(path: string, init: RequestInit = {}): Promise<TokenResponse> {
    const response = await app.request(path, init);
    const text = await response.text();
    const isJson = /[/+]json$/.test(response.headers.get('content-type') ?? '');
    const { code, approval } = (isJson ? JSON.parse(text) : {}) as Pick<TokenResponse, 'code' | 'approval'>;
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).toSorted();
    return { status: response.status, code, approval, whole: [response.status, ...headers, '', text].join('\n') };
  }

  return {
    ...{ clock, logged, paid, operator, store, settle, request, calls, tokens },
    async start(run: string, input: Payment = {}): Promise<void> {
      await payments.start(input, { id: run });
      await settle();
    },
    /** Creates a link to the approval of a run. */
    async link(run: string, person: Person = 'user:ann', days = 7): Promise<string> {
      const at = await runtime.contexts.forRun(run);
      const expiresAt = clock.now() + days * DAY;
      const token = await linkFor(at, { tenant: 'default', run, approval: 'pay', person, expiresAt });
      tokens.push(token);
      return token;
    },
    look: (token: string) => request(`/approvals/${token}`),
    /** Decides with JSON, as a program does. */
    answer: (token: string, answer: string, more: object = {}) =>
      request(`/approvals/${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ answer, ...more }),
      }),
    /** Decides with a form, as a browser does. */
    submit: (token: string, answer: string) =>
      request(`/approvals/${token}`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'text/html' },
        body: new URLSearchParams({ answer }).toString(),
      }),
    /** The approval of a run as it is recorded. */
    record: (run: string): Promise<ApprovalDocument> => operator.approval(run, 'pay'),
    sweep: () => sweepDue({ runtime }),
    revoke: async (token: string): Promise<void> => {
      const { revokeToken } = await import('../../lambda/runtime/approvals/tokens.ts');
      await revokeToken(await runtime.contexts.forTenant(), token);
    },
    /** Counts the storage requests of an action. */
    async requestsOf(act: () => Promise<unknown>): Promise<Calls> {
      const before = { ...calls };
      await act();
      const { read, range, list, commit } = calls;
      return {
        read: read - before.read,
        range: range - before.range,
        list: list - before.list,
        commit: commit - before.commit,
      };
    },
  };
}

export type TokenScene = ReturnType<typeof tokenScene>;
