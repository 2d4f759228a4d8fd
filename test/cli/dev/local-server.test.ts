import { describe, expect, it } from 'vitest';
import { embeddedStorage } from '../../../lambda/embedded.ts';
import { agent } from '../../../lambda/index.ts';
import { isAlive, projectOf, serverOf, sharedServer, until } from './scene.ts';

const TRIP = `
  import { appendFileSync } from 'node:fs';
  import { agent } from 'waitstate';
  export const trip = agent({
    name: 'trip',
    description: 'Books a trip.',
    example: { to: 'Tokyo' },
    async run(ctx, input: { to: string }) {
      const paid = (what: string) => appendFileSync('paid.txt', [ctx.run, what, process.pid].join(' ') + '\\n');
      const fare = await ctx.step('search', () => (paid('search'), 1200));
      ctx.log('found one', { fare });
      const decision = await ctx.approval('book', { title: \`Book \${input.to} for $\${fare}?\`, approvers: ['user:ann'] });
      if (!decision.approved) return 'not booked';
      await ctx.step('book', () => paid('book'));
      return \`booked \${input.to}\`;
    },
  });
`;

// Two agents in a file, one of them with an example that JSON cannot express.
const GREET = `
  import { agent } from 'waitstate';
  export const greet = agent({
    name: 'greet',
    description: 'Greets.',
    example: { name: 'Bob', since: new Date(0) },
    run: async (ctx, input: { name: string; since: Date }) => input.name + ' ' + input.since.getFullYear(),
  });
  export const plain = agent({ name: 'plain', run: async () => 1 });
  export const example = 'of the file';
`;

const BAD_EXAMPLES = `
  import { agent } from 'waitstate';
  const positive = { '~standard': { version: 1 as const, vendor: 'by hand', validate: (value: unknown) =>
    Number(value) > 0 ? { value: Number(value) } : { issues: [{ message: 'expected a positive number' }] } } };
  export const counted = agent({ name: 'counted', input: positive, example: -1, run: async (ctx, n) => n });
  export const odd = agent({ name: 'odd', example: { go: () => 1 }, run: async (ctx, input: object) => input });
`;

const CALLS = `
  import { agent } from 'waitstate';
  export const inner = agent({ name: 'inner', run: async (ctx, n: number) => ctx.step('double', () => 2 * n) });
  export const outer = agent({
    name: 'outer',
    run: async (ctx, n: number) => [await ctx.call(inner, n), (await inner.start(7, { id: 'inner-1' })).id],
  });
`;

const NAP = `
  import { agent } from 'waitstate';
  export const nap = agent({ name: 'nap', run: async (ctx) => ctx.sleep('nap', { seconds: 11 }).then(() => 'awake') });
`;

const FAILS = `
  import { agent } from 'waitstate';
  export const fails = agent({
    name: 'fails',
    run: (ctx) => ctx.step('look', () => { console.log('\\u001b[2Jcleared'); throw new TypeError('Unknown city.'); }, { retry: { maxAttempts: 1 } }),
  });
`;

const BUSY = `
  import { agent } from 'waitstate';
  export const busy = agent({
    name: 'busy',
    run: (ctx) => ctx.step('call', async ({ attempt }) => {
      if (attempt === 1) throw new Error('The line is busy.');
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      return attempt;
    }, { retry: { maxAttempts: 3 } }),
  });
`;

const SLOW = `
  import { appendFileSync, existsSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { agent } from 'waitstate';
  export const slow = agent({
    name: 'slow',
    run: (ctx) => ctx.step('wait', async () => {
      appendFileSync('seen.txt', 'starts\\n');
      while (!existsSync('go.txt')) await setTimeout(20);
      appendFileSync('seen.txt', 'ends\\n');
    }),
  });
`;

describe.concurrent('the local server', () => {
  const { project, server } = sharedServer({
    'nap.ts': NAP,
    'trip.ts': TRIP,
    'greet.ts': GREET,
    'examples.ts': BAD_EXAMPLES,
    'calls.ts': CALLS,
    'fails.ts': FAILS,
    'busy.ts': BUSY,
  });
  const narrow = sharedServer({ 'slow.ts': SLOW }, { concurrency: 2 });

  it('logs how long a run sleeps, and wakes it', async () => {
    const run = await server.start('nap');
    await server.waitForLine(new RegExp(`${run} +waits for timer "nap" in 1\\ds`));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'awake' });
  });

  it('limits the number of concurrent processes', async () => {
    const { project, server } = narrow;
    const runs = await Promise.all(Array.from({ length: 7 }, () => server.start('slow')));
    await until('two processes run', () => project.lines('seen.txt').length >= 2);
    expect(server.lines.filter((line) => line.includes('starts: slow'))).toHaveLength(2);
    project.write('go.txt', '');
    for (const run of runs) await server.becomes(run, 'SUCCEEDED');
    const lines = project.lines('seen.txt');
    const running = lines.map((_, i) => lines.slice(0, i + 1).reduce((n, line) => n + (line === 'starts' ? 1 : -1), 0));
    expect(Math.max(...running)).toBe(2);
    expect(lines).toHaveLength(14);
  });

  it('runs an agent, logs its approval request, and resumes it in another process', async () => {
    const run = await server.start('trip', { to: 'Tokyo' });
    const [first] = await server.waitForLine(new RegExp(`${run} +starts: trip \\(pid (\\d+)\\)`));
    await server.waitForLine(new RegExp(`${run} +│ found one {"fare":1200}`));
    await server.waitForLine(new RegExp(`${run} +waits for approval "book" \\(1 step\\)`));
    await server.waitForLine(new RegExp(`${run} +asks user:ann: Book Tokyo for \\$1200\\?`));
    await until('the first process is gone', () => !isAlive(Number(first)));
    const link = await server.link(run);
    await server.waitForLine(new RegExp(`or: curl -d answer=approve ${link}$`));

    const response = await fetch(link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    expect(response.status).toBe(200);
    await server.waitForLine(new RegExp(`${run} +approved by user:ann: Book Tokyo`));
    const [second] = await server.waitForLine(new RegExp(`${run} +resumes \\(pid (\\d+)\\)`));
    await server.waitForLine(new RegExp(`${run} +succeeded after .+ \\(1 step\\)`));
    expect(await server.callApi(`/api/runs/${run}`)).toMatchObject({ status: 'SUCCEEDED', result: 'booked Tokyo' });
    expect(second).not.toBe(first);
    const paid = project.lines('paid.txt').filter((line) => line.startsWith(run));
    expect(paid).toEqual([`${run} search ${first}`, `${run} book ${second}`]);
  });

  it('lists its agents for the console, each with its own description and example', async () => {
    const example = { name: 'Bob', since: { $: ['date', 0] } };
    expect(await server.callApi('/api/agents')).toEqual({
      agents: [
        { name: 'nap' },
        { name: 'trip', description: 'Books a trip.', example: { to: 'Tokyo' } },
        { name: 'greet', description: 'Greets.', example },
        { name: 'plain' },
        { name: 'counted' },
        { name: 'odd' },
        { name: 'inner' },
        { name: 'outer' },
        { name: 'fails' },
        { name: 'busy' },
      ],
    });
    const run = await server.start('greet', example);
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'Bob 1970' });
  });

  it('reports an example that is no valid input, and runs the agent without it', async () => {
    expect(server.log).toContain(
      'examples.ts: The `example` of agent "counted" is ignored. The input of agent "counted" does not match its schema: expected a positive number.',
    );
    expect(server.log).toMatch(/examples\.ts: The `example` of agent "odd" is ignored\. .*example\.go is a function/);
    await server.becomes(await server.start('counted', 2), 'SUCCEEDED');
  });

  it('executes runs that another process or an agent started', async () => {
    const storage = embeddedStorage({ folder: project.file('.waitstate') });
    const outer = agent({ name: 'outer', run: async () => {} }, { storage });
    await outer.start(21, { id: 'from-outside' });
    await storage.records.close();
    expect(await server.becomes('from-outside', 'SUCCEEDED')).toMatchObject({ result: [42, 'inner-1'] });
    expect(await server.becomes('inner-1', 'SUCCEEDED')).toMatchObject({ result: 14 });
  });

  it('logs why a run failed', async () => {
    const run = await server.start('fails');
    await server.waitForLine(
      new RegExp(`${run} +failed after .+ at "look": TypeError: Unknown city\\. \\(fails\\.ts:5\\)`),
    );
    // Output of an agent cannot control the terminal.
    expect(server.log).toContain('│ \\u001b[2Jcleared');
    expect(server.log).not.toContain('\u001b');
  });

  it('logs each run that another process ended once', async () => {
    for (const [run, reason] of [['t1', 'Rain.'], ['t2']] as const) {
      await server.start('trip', { to: 'Tokyo' }, run);
      await server.becomes(run, 'WAITING_FOR_APPROVAL');
      await server.callApi(`/api/runs/${run}/cancel`, reason === undefined ? {} : { reason });
    }
    await server.waitForLine(/t2 +cancelled after [^:]+$/);
    await server.waitForLine(/t1 +cancelled after [^:]+: Rain\.$/);
    const run = await server.start('trip', { to: 'Lisbon' });
    await server.becomes(run, 'WAITING_FOR_APPROVAL');
    expect(server.lines.filter((line) => line.includes('cancelled after'))).toHaveLength(2);
  });

  it('logs why a step is retried', async () => {
    const run = await server.start('busy');
    await server.waitForLine(new RegExp(`${run} +retries "call": The line is busy\\.`));
    await server.becomes(run, 'SUCCEEDED');
    expect(server.lines.filter((line) => line.includes('retries "call"'))).toHaveLength(1);
  });
});

describe('the local server at its start', () => {
  it('skips runs of unknown agents, and logs that once', async () => {
    const project = projectOf({ 'trip.ts': TRIP });
    const storage = embeddedStorage({ folder: project.file('.waitstate') });
    const lost = agent({ name: 'lost', run: async () => {} }, { storage });
    for (const id of ['l1', 'l2', 'l3']) await lost.start(null, { id });
    await agent({ name: 'trip', run: async () => {} }, { storage }).start({ to: 'Lisbon' }, { id: 'behind' });
    await storage.records.close();
    const server = serverOf(project, ['trip.ts'], { concurrency: 1 });
    await server.ready();
    // Runs of unknown agents do not block others.
    await server.becomes('behind', 'WAITING_FOR_APPROVAL');
    expect(server.log).toMatch(/l1 +waits: no agent file, command or worker runs agent "lost"/);
    expect(server.lines.filter((line) => line.includes('agent "lost"'))).toHaveLength(1);
    expect(await server.callApi('/api/runs/l2')).toMatchObject({ status: 'READY', deliveries: 0 });
  });
});
