import { describe, expect, it } from 'vitest';
import { projectOf, serverOf, until } from './scene.ts';

describe('approvals on one machine', () => {
  it('reach people by the hook of the agent, in a process of its own, with links of this server; and the log', async () => {
    const project = projectOf({
      'refund.ts': `
        import { appendFileSync } from 'node:fs';
        import { agent } from 'waitstate';
        export const refund = agent({
          name: 'refund',
          members: (group) => (group === 'group:finance' ? ['user:ann', 'user:bob'] : []),
          notify({ kind, title, links }) {
            if (process.env.WAITSTATE_APPROVAL_URL !== new URL('.', links[0]?.url).href) throw new Error('Another URL is set.');
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
    await server.says(new RegExp(`${run} +asks group:finance: Pay \\$10\\?`));
    const mails = (
      await until('both have mail', () => project.lines('mail.txt').length === 2 && project.lines('mail.txt'))
    ).map((line) => line.split(' '));
    for (const [kind, person = '', url = '', pid] of mails) {
      expect(kind).toBe('asked');
      expect(url.startsWith(`${server.url}/approvals/`)).toBe(true);
      expect(await server.link(person)).toBe(url);
      expect(Number(pid)).not.toBe(server.child.pid);
      const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
      expect(answer.status).toBe(200);
    }
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:ann', 'user:bob'] });
    await server.says(new RegExp(`${run} +approved by user:ann, user:bob: Pay`));
  });

  it('of a group without members are answered by whoever has the key, for one of them', async () => {
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
    const [page] = await server.says(/^ +console {2}(http:\S+)$/);
    expect(page).toBe(`${server.url}/console/runs/${run}/approvals/go`);
    expect(server.log).not.toContain('curl');
    await server.ask(`/api/runs/${run}/approvals/go/decide`, {
      answer: 'approve',
      by: 'user:cleo',
      groups: ['group:finance'],
    });
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:cleo'] });
  });

  it('whose hook fails are told so, and people find them all the same', async () => {
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
    await server.says(
      new RegExp(`${run} +The agent could not tell people of "go"; .*Error: The mail server is down\\.`),
    );
    await fetch(await server.link(), { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await server.becomes(run, 'SUCCEEDED');
  });

  it('of an agent whose hook never comes back keep no other from being told', async () => {
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
    await server.says(new RegExp(`${slow} +asks user:slow`));
    const quick = await server.start('quick');
    await server.says(new RegExp(`${quick} +asks user:quick`));
    await fetch(await server.link('user:quick'), { method: 'POST', body: new URLSearchParams({ answer: 'reject' }) });
    await server.becomes(quick, 'SUCCEEDED');
  });

  it('of an agent with keys of its own are asked; what is started here is not encrypted, and that is said', async () => {
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
          run: async () => { await secret.start(null, { id: 'sealed' }); },
        });
      `,
    });
    const server = serverOf(project, ['secret.ts']);
    await server.ready();
    await server.says(/Runs of "secret" that are started here are not encrypted/);
    const open = await server.start('secret');
    await server.says(new RegExp(`${open} +asks user:ann: Go, in secret\\?`));
    // What it starts itself is run, but only it can read that.
    await server.start('starter');
    await server.says(/sealed +.*no key/i);
    expect(await server.ask('/api/runs?status=WAITING_FOR_APPROVAL')).toMatchObject({
      runs: expect.arrayContaining([
        expect.objectContaining({ run: open, encrypted: false }),
        expect.objectContaining({ run: 'sealed', encrypted: true }),
      ]),
    });
  });
});
