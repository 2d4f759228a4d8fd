import { describe, expect, it } from 'vitest';
import { projectOf, serverOf, sharedServer, until } from './scene.ts';

const REFUND = `
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
`;

/** A file with agents that each wait for an approval, by their names; with their approvers and their `notify` hooks. */
const asking = (agents: Readonly<Record<string, { readonly approver: string; readonly notify?: string }>>): string => `
  import { agent } from 'waitstate';
  ${Object.entries(agents)
    .map(
      ([name, { approver, notify = '' }]) => `
        export const ${name} = agent({
          name: '${name}',
          ${notify}
          run: async (ctx) => (await ctx.approval('go', { title: 'Go, ${name}?', approvers: ['${approver}'] })).by,
        });`,
    )
    .join('')}
`;

const SECRET = `
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
`;

describe.concurrent('notifications of one local server', () => {
  const { project, server } = sharedServer(
    {
      'refund.ts': REFUND,
      'group.ts': asking({ nobody: { approver: 'group:nobody' } }),
      'failing.ts': asking({
        failing: { approver: 'user:ann', notify: `notify() { throw new Error('The mail server is down.'); },` },
      }),
      'secret.ts': SECRET,
    },
    { env: { WAITSTATE_APPROVAL_URL: 'https://elsewhere.example/' } },
  );

  it('go to the log and to the notify hook of the agent, with approval links of this server', async () => {
    const run = await server.start('refund');
    await server.waitForLine(new RegExp(`${run} +asks group:finance: Pay \\$10\\?`));
    const mails = (
      await until('both have mail', () => project.lines('mail.txt').length === 2 && project.lines('mail.txt'))
    ).map((line) => line.split(' '));
    for (const [kind, person = '', url = '', pid] of mails) {
      expect(kind).toBe('requested');
      expect(url.startsWith(`${server.url}/approvals/`)).toBe(true);
      expect(await server.link(run, person)).toBe(url);
      expect(Number(pid)).not.toBe(server.child.pid);
      const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
      expect(response.status).toBe(200);
    }
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:ann', 'user:bob'] });
    await server.waitForLine(new RegExp(`${run} +approved by user:ann, user:bob: Pay`));
  });

  it('name the console page if a group has no members', async () => {
    const run = await server.start('nobody');
    const page = `${server.url}/console/runs/${run}/approvals/go`;
    await server.waitForLine(new RegExp(`^ +console {2}${page}$`));
    expect(server.linesBelowAsks(run).map((line) => line.trim())).toEqual([`console  ${page}`]);
    await server.callApi(`/api/runs/${run}/approvals/go/decide`, {
      answer: 'approve',
      by: 'user:cleo',
      groups: ['group:nobody'],
    });
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: ['user:cleo'] });
  });

  it('are logged with a link even if the notify hook fails', async () => {
    const run = await server.start('failing');
    await server.waitForLine(
      new RegExp(`${run} +The notify hook failed for approval "go" .*Error: The mail server is down\\.`),
    );
    await fetch(await server.link(run), { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    await server.becomes(run, 'SUCCEEDED');
  });

  it('are sent for an agent with keys, whose runs are encrypted only if the agent starts them', async () => {
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

describe('notifications of the local server', () => {
  it('are not blocked by the hook of another agent that never returns', async () => {
    const project = projectOf({
      'two.ts': asking({
        slow: { approver: 'user:ann', notify: 'notify: () => new Promise(() => {}),' },
        quick: { approver: 'user:ann' },
      }),
    });
    const server = serverOf(project, ['two.ts']);
    await server.ready();
    const slow = await server.start('slow');
    await server.link(slow);
    const quick = await server.start('quick');
    await fetch(await server.link(quick), { method: 'POST', body: new URLSearchParams({ answer: 'reject' }) });
    await server.becomes(quick, 'SUCCEEDED');
  });
});
