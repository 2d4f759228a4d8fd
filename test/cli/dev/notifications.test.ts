import { describe, expect, it } from 'vitest';
import { projectOf, serverOf, until } from './scene.ts';

describe('notifications of the local server', () => {
  it('go to the log and to the notify hook of the agent, with approval links of this server', async () => {
    const project = projectOf({
      'refund.ts': `
        import { appendFileSync } from 'node:fs';
        import { agent } from 'waitstate';
        export const refund = agent({
          name: 'refund',
          members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
          notify({ kind, title, links }) {
            if (process.env.WAITSTATE_APPROVAL_URL !== new URL('.', links[0]?.url).href) throw new Error('Unexpected WAITSTATE_APPROVAL_URL.');
            for (const { person, url } of links) appendFileSync('mail.txt', [kind, person, url, process.pid, title].join(' ') + '\\n');
          },
          async run(ctx) {
            const { by } = await ctx.approval('pay', { title: 'Pay $10?', approvers: ['group:finance'], quorum: 2 });
            return by;
          },
        });
      `,
    });
    const server = serverOf(project, ['refund.ts'], { env: { WAITSTATE_APPROVAL_URL: 'https://elsewhere.example/' } });
    await server.ready();
    const run = await server.start('refund');
    await server.waitForLine(new RegExp(`${run} +asks group:finance: Pay \\$10\\?`));
    const mails = (
      await until('both have mail', () => project.lines('mail.txt').length === 2 && project.lines('mail.txt'))
    ).map((line) => line.split(' '));
    for (const [kind, person = '', url = '', pid] of mails) {
      expect(kind).toBe('requested');
      expect(url.startsWith(`${server.url}/approvals/`)).toBe(true);
      expect(await server.link(person)).toBe(url);
      expect(Number(pid)).not.toBe(server.child.pid);
      const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
      expect(response.status).toBe(200);
    }
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:ann', 'user:bob'] });
    await server.waitForLine(new RegExp(`${run} +approved by user:ann, user:bob: Pay`));
  });

  it('name the console page if a group has no members', async () => {
    const project = projectOf({
      'ask.ts': `
        import { agent } from 'waitstate';
        export const ask = agent({
          name: 'ask',
          run: async (ctx) => (await ctx.approval('go', { title: 'Go?', approvers: ['group:finance'] })).by,
        });
      `,
    });
    const server = serverOf(project, ['ask.ts']);
    await server.ready();
    const run = await server.start('ask');
    const [page] = await server.waitForLine(/^ +console {2}(http:\S+)$/);
    expect(page).toBe(`${server.url}/console/runs/${run}/approvals/go`);
    expect(server.log).not.toContain('curl');
    await server.callApi(`/api/runs/${run}/approvals/go/decide`, {
      answer: 'approve',
      by: 'user:cleo',
      groups: ['group:finance'],
    });
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:cleo'] });
  });

  it('are logged with a link even if the notify hook fails', async () => {
    const project = projectOf({
      'ask.ts': `
        import { agent } from 'waitstate';
        export const ask = agent({
          name: 'ask',
          notify() { throw new Error('The mail server is down.'); },
          run: async (ctx) => (await ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] })).by,
        });
      `,
    });
    const server = serverOf(project, ['ask.ts']);
    await server.ready();
    const run = await server.start('ask');
    await server.waitForLine(
      new RegExp(`${run} +The notify hook failed for approval "go" .*Error: The mail server is down\\.`),
    );
    await fetch(await server.link(), { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await server.becomes(run, 'SUCCEEDED');
  });

  it('are not blocked by the hook of another agent that never returns', async () => {
    const hook = (name: string, notify: string) => `
      export const ${name} = agent({
        name: '${name}',
        ${notify}
        run: async (ctx) => (await ctx.approval('go', { title: 'Go, ${name}?', approvers: ['user:${name}'] })).by,
      });
    `;
    const project = projectOf({
      'two.ts': `
        import { agent } from 'waitstate';
        ${hook('slow', 'notify: () => new Promise(() => {}),')}
        ${hook('quick', '')}
      `,
    });
    const server = serverOf(project, ['two.ts']);
    await server.ready();
    const slow = await server.start('slow');
    await server.waitForLine(new RegExp(`${slow} +asks user:slow`));
    const quick = await server.start('quick');
    await server.waitForLine(new RegExp(`${quick} +asks user:quick`));
    await fetch(await server.link('user:quick'), { method: 'POST', body: new URLSearchParams({ answer: 'reject' }) });
    await server.becomes(quick, 'SUCCEEDED');
  });

  it('are sent for an agent with keys, whose runs are encrypted only if the agent starts them', async () => {
    const project = projectOf({
      'secret.ts': `
        import { agent, localKeys } from 'waitstate';
        const keys = localKeys({ current: 'main', keys: { main: Buffer.alloc(32, 7) } });
        export const secret = agent({
          name: 'secret',
          run: async (ctx) => (await ctx.approval('go', { title: 'Go, in secret?', approvers: ['user:ann'] })).by,
        }, { keys });
        export const starter = agent({
          name: 'starter',
          run: async () => { await secret.start(null, { id: 'encrypted' }); },
        });
      `,
    });
    const server = serverOf(project, ['secret.ts']);
    await server.ready();
    await server.waitForLine(/Runs of "secret" that you start here are not encrypted/);
    const unencrypted = await server.start('secret');
    await server.waitForLine(new RegExp(`${unencrypted} +asks user:ann: Go, in secret\\?`));
    // Runs that it starts itself are executed, but only the agent can read them.
    await server.start('starter');
    await server.waitForLine(/encrypted +.*no key/i);
    expect(await server.callApi('/api/runs?status=WAITING_FOR_APPROVAL')).toMatchObject({
      runs: expect.arrayContaining([
        expect.objectContaining({ run: unencrypted, encrypted: false }),
        expect.objectContaining({ run: 'encrypted', encrypted: true }),
      ]),
    });
  });
});
