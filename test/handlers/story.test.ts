import { afterEach, describe, expect, it, vi } from 'vitest';
import { powertoolsTelemetry } from '../../lambda/handlers/powertools.ts';
import { agent } from '../../lambda/runtime/agent/agent.ts';
import type { ApprovalNotification } from '../../lambda/runtime/definition/approval-notification.ts';
import { type HandlerScene, handlerScene, lambdaContext, linkEvent } from './scene.ts';

interface Refund {
  readonly order: string;
}

/** Adds an agent to the scene all of whose data is marked as secret. */
function refundsIn(scene: HandlerScene) {
  const notifications: ApprovalNotification[] = [];
  const paid: string[] = [];
  const refunds = agent(
    {
      name: 'refunds',
      state: { initial: (input: Refund) => ({ order: input.order, note: 'SECRET-STATE' }) },
      notify: (notification) => void notifications.push(notification),
      async run(ctx, input) {
        const quote = await ctx.step('price', () => ({ amount: 12, of: 'SECRET-RESULT' }));
        const decision = await ctx.approval('refund', {
          title: 'SECRET-TITLE',
          show: quote,
          approvers: ['user:ann@SECRET-PERSON'],
          timeout: { days: 3 },
        });
        if (!decision.approved) return { refunded: false };
        await ctx.step('pay', () => void paid.push(input.order));
        return { refunded: true, reason: decision.comment };
      },
    },
    {
      storage: scene.storage,
      clock: scene.clock,
      approvalUrl: 'https://approve.test/approvals',
    },
  );
  let requests = 0;
  const handler = refunds.handler();
  scene.behind.set('refunds-fn', (event) => handler(event, lambdaContext(`agent-${++requests}`)));
  return { refunds, notifications, paid };
}

/** Captures the output of this process until the returned function is called. */
function captureOutput(): () => string {
  const written: string[] = [];
  const keep = (chunk: unknown) => {
    written.push(String(chunk));
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  for (const level of ['log', 'info', 'warn', 'error', 'debug'] as const)
    vi.spyOn(console, level).mockImplementation((...args) => void keep(JSON.stringify(args)));
  return () => {
    vi.restoreAllMocks();
    return written.join('\n');
  };
}

afterEach(() => void vi.restoreAllMocks());

describe.each([
  ['receive all stream records', false],
  ['receive filtered stream records', true],
])('a run on handlers that %s', (_, filtered) => {
  it('starts, requests an approval, is decided with a link, and ends, and logs no content', async () => {
    const scene = await handlerScene({
      filtered,
      telemetry: (handler) => powertoolsTelemetry(handler, { metricsNamespace: 'Shop/Waitstate' }),
    });
    const { refunds, notifications, paid } = refundsIn(scene);
    const stopCapture = captureOutput();
    const run = await refunds.start({ order: 'SECRET-ORDER' }, { id: 'r-1' });
    expect(await scene.flow()).toEqual([]);
    expect(await run.status()).toBe('WAITING_FOR_APPROVAL');

    expect(scene.sent.events.map(({ type }) => type)).toEqual(['Approval Requested']);
    expect(scene.sent.messages.map(({ topic }) => topic)).toEqual(['topic']);
    expect(notifications).toHaveLength(1);
    const [link] = notifications[0]?.links ?? [];
    const token = link?.url.split('/').at(-1) ?? '';
    expect(JSON.stringify(scene.sent)).not.toContain(token);

    const shown = await scene.api(linkEvent('GET', token));
    expect(JSON.parse(shown.body)).toMatchObject({
      approval: { title: 'SECRET-TITLE', show: { amount: 12 }, status: 'PENDING' },
    });
    const body = JSON.stringify({ answer: 'approve', comment: 'SECRET-COMMENT' });
    expect((await scene.api(linkEvent('POST', token, body))).statusCode).toBe(200);
    expect(await scene.flow()).toEqual([]);

    expect(await run.result()).toEqual({ refunded: true, reason: 'SECRET-COMMENT' });
    expect(paid).toEqual(['SECRET-ORDER']);
    expect(scene.sent.events.at(-1)).toEqual({
      bus: 'bus',
      type: 'Run Succeeded',
      detail: { tenant: 'default', run: 'r-1', agent: 'refunds', status: 'SUCCEEDED', version: expect.any(Number) },
    });
    expect(scene.sent.events).toHaveLength(2);

    // Refused and failed requests are logged, too, without content.
    await scene.api(linkEvent('POST', token, JSON.stringify({ answer: 'reject', comment: 'SECRET-COMMENT' })));
    await scene.api(linkEvent('POST', `${token}x`, '{"answer":"SECRET-COMMENT"}'));
    await scene.checkpoint({ waitstate: 1, action: 'save', run: 'r-1', expectedVersion: 1, state: 'SECRET-STATE' });
    await scene.checkpoint({ waitstate: 1, action: 'SECRET-STATE', run: 'r-1' });
    await scene.resume({ Records: [{ dynamodb: { NewImage: { sk: { S: 'SECRET-STATE' } } } }] });
    await scene.sweep();
    const log = stopCapture();
    expect(log).toMatch(/"service":"waitstate-checkpoint"/);
    expect(log).toMatch(/"_aws":.*"Namespace":"Shop\/Waitstate"/);
    expect(log).not.toContain('SECRET');
    expect(log).not.toContain(token);
  });

  it('completes if the stream delivers every record twice and batches out of order', async () => {
    const scene = await handlerScene({ filtered });
    const { refunds, notifications, paid } = refundsIn(scene);
    const run = await refunds.start({ order: 'o-1' }, { id: 'r-1' });
    const flowTwice = async () => {
      for (;;) {
        const Records = await scene.nextRecords();
        if (Records.length === 0 && scene.queue.length === 0) return;
        for (const again of [Records.toReversed(), Records]) {
          await Promise.all([scene.notify({ Records: again }), scene.resume({ Records: again })]);
        }
        await Promise.all(scene.queue.splice(0).map((invoke) => invoke()));
      }
    };
    await flowTwice();
    const token = notifications[0]?.links[0]?.url.split('/').at(-1) ?? '';
    expect(notifications).toHaveLength(1);
    await scene.api(linkEvent('POST', token, '{"answer":"approve"}'));
    await flowTwice();
    expect(await run.result()).toEqual({ refunded: true, reason: undefined });
    expect(paid).toEqual(['o-1']);
  });
});
