import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { randomFrom } from '../../faults/seeded.ts';
import { isAlive, type Project, projectOf, type ServerProcess, serverOf, until } from './scene.ts';

const STEPS = 8;

const WORK = `
  import { appendFileSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { agent } from 'waitstate';
  export const work = agent({
    name: 'work',
    maxAttempts: 50,
    async run(ctx) {
      for (let i = 1; i <= ${STEPS}; i++)
        await ctx.step('step ' + i, async ({ idempotencyKey }) => {
          appendFileSync('paid.txt', [ctx.run, i, idempotencyKey, process.pid].join(' ') + '\\n');
          await setTimeout(80);
        });
      return 'done';
    },
  });
`;

interface Paid {
  readonly run: string;
  readonly step: number;
  readonly key: string;
  readonly pid: number;
}

const paidIn = (project: Project): readonly Paid[] =>
  project.lines('paid.txt').map((line) => {
    const [run = '', step, key = '', pid] = line.split(' ');
    return { run, step: Number(step), key, pid: Number(pid) };
  });

/** That no step was begun after a later one: what was recorded is not run again. */
function expectEachOnce(project: Project, run: string): void {
  const paid = paidIn(project).filter((each) => each.run === run);
  const steps = paid.map(({ step }) => step);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect(new Set(steps).size).toBe(STEPS);
  // What is run again because nobody knew that it was done is run under the same key.
  expect(new Set(paid.map(({ key }) => key)).size).toBe(STEPS);
}

describe('the local server, when processes are killed', () => {
  it.each([1, 2])('goes on with its runs after it was killed itself, again and again (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const project = projectOf({ 'work.ts': WORK });
    const killed: number[] = [];
    let server: ServerProcess = serverOf(project, ['work.ts']);
    await server.ready();
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => server.start('work', null, id)));
    for (let i = 0; i < 4; i++) {
      const before = paidIn(project).length;
      await until('something is paid', () => paidIn(project).length > before);
      await pause(random() * 150);
      await server.kill('SIGKILL');
      killed.push(...paidIn(project).map(({ pid }) => pid));
      await until('its processes are gone', () => killed.every((pid) => !isAlive(pid)));
      server = serverOf(project, ['work.ts']);
      await server.ready();
    }
    for (const run of runs) {
      expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'done' });
      expectEachOnce(project, run);
    }
    expect(server.log).toContain('goes on where it was cut off');
  });

  it('goes on with a run whose process is killed, again and again', async () => {
    const random = randomFrom(3);
    const project = projectOf({ 'work.ts': WORK });
    const server = serverOf(project, ['work.ts'], { timing: { crashBackoffMs: 50 } });
    await server.ready();
    const run = await server.start('work');
    for (let kills = 1; kills <= 4; kills++) {
      const before = paidIn(project).length;
      const { pid } = await until('something is paid', () => paidIn(project)[before]);
      await pause(random() * 100);
      process.kill(pid, 'SIGKILL');
      await server.says(/pid \d+ was killed \(SIGKILL\)/, kills);
    }
    await server.becomes(run, 'SUCCEEDED');
    expectEachOnce(project, run);
  });

  it('takes its processes with it, even one that is busy for ever, and what that has started', async () => {
    const project = projectOf({
      'busy.ts': `
        import { spawn } from 'node:child_process';
        import { appendFileSync } from 'node:fs';
        import { agent } from 'waitstate';
        export const busy = agent({
          name: 'busy',
          run: () => {
            const { pid } = spawn('sleep', ['1000'], { stdio: 'ignore' });
            appendFileSync('pids.txt', pid + '\\n' + process.pid + '\\n');
            for (;;);
          },
        });
      `,
    });
    const server = serverOf(project, ['busy.ts']);
    await server.ready();
    await server.start('busy');
    const pids = await until('it is busy', () => project.lines('pids.txt').length === 2 && project.lines('pids.txt'));
    expect(pids.map(Number).map(isAlive)).toEqual([true, true]);
    await server.kill('SIGKILL');
    await until('its processes are gone', () => pids.every((pid) => !isAlive(Number(pid))));
  });

  it('ends what an agent has started with the process of the agent', async () => {
    const project = projectOf({
      'parent.ts': `
        import { spawn } from 'node:child_process';
        import { agent } from 'waitstate';
        export const parent = agent({
          name: 'parent',
          run: (ctx) => ctx.step('start', () => spawn('sleep', ['1000'], { stdio: 'inherit' }).pid),
        });
      `,
    });
    const server = serverOf(project, ['parent.ts']);
    await server.ready();
    const { result: pid } = await server.becomes(await server.start('parent'), 'SUCCEEDED');
    await until('it is gone', () => !isAlive(Number(pid)));
  });
});

describe('a process of an agent', () => {
  it('that ends by itself is told and tried again, and given up after as many attempts as the agent has', async () => {
    const project = projectOf({
      'quits.ts': `
        import { agent } from 'waitstate';
        export const quits = agent({
          name: 'quits',
          maxAttempts: 3,
          async run(ctx) {
            await ctx.step('first', () => 1);
            process.exit(7);
          },
        });
      `,
    });
    const server = serverOf(project, ['quits.ts'], { timing: { crashBackoffMs: 20 } });
    await server.ready();
    const run = await server.start('quits');
    const failed = await server.becomes(run, 'FAILED');
    expect(failed.error).toMatchObject({ message: expect.stringContaining('first') });
    // The first attempt recorded a step; three more did not, and then as many to end the run.
    expect(server.lines.filter((line) => line.includes('ended by itself with exit code 7'))).toHaveLength(7);
    await server.says(new RegExp(`${run} +failed after .* Its last process ended by itself with exit code 7\\.`));
  });

  it('that does not answer any more is ended and tried again', async () => {
    const project = projectOf({
      'stuck.ts': `
        import { appendFileSync, existsSync } from 'node:fs';
        import { agent } from 'waitstate';
        export const stuck = agent({
          name: 'stuck',
          run: (ctx) => ctx.step('once stuck', () => {
            if (existsSync('was-here.txt')) return 'free';
            appendFileSync('was-here.txt', 'x');
            for (;;);
          }),
        });
      `,
    });
    const server = serverOf(project, ['stuck.ts'], { timing: { heartbeatTimeoutMs: 6_000, crashBackoffMs: 20 } });
    await server.ready();
    const run = await server.start('stuck');
    await server.says(new RegExp(`${run} +pid \\d+ did not answer for 6s and was ended`));
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'free' });
  });

  it('that takes longer than an invocation may yields, and the run goes on in another one', async () => {
    // It must have some time left when it has read its code.
    const project = projectOf({ 'work.ts': WORK.replace('setTimeout(80)', 'setTimeout(1_500)') });
    const server = serverOf(project, ['work.ts'], { timing: { invocationTimeoutMs: 8_000 } });
    await server.ready();
    const run = await server.start('work');
    await server.says(new RegExp(`${run} +goes on in a new process`));
    await server.becomes(run, 'SUCCEEDED');
    expectEachOnce(project, run);
    expect(new Set(paidIn(project).map(({ pid }) => pid)).size).toBeGreaterThan(1);
  });

  it('that throws where nobody catches it is told with what it said', async () => {
    const project = projectOf({
      'throws.ts': `
        import { agent } from 'waitstate';
        export const throws = agent({
          name: 'throws',
          maxAttempts: 1,
          async run(ctx) {
            setTimeout(() => { throw new Error('Nobody awaits me.'); }, 10);
            await ctx.step('wait', () => new Promise(() => {}));
          },
        });
      `,
    });
    const server = serverOf(project, ['throws.ts'], { timing: { crashBackoffMs: 20 } });
    await server.ready();
    const run = await server.start('throws');
    await server.says(new RegExp(`${run} +│ Error: Nobody awaits me\\.`));
    await server.says(new RegExp(`${run} +pid \\d+ ended by itself with exit code 1`));
    await server.becomes(run, 'FAILED');
  });
});

describe('the local server, when it is stopped', () => {
  const SLOW = (milliseconds: number) => `
    import { appendFileSync } from 'node:fs';
    import { setTimeout } from 'node:timers/promises';
    import { agent } from 'waitstate';
    export const slow = agent({
      name: 'slow',
      run: (ctx) => ctx.step('wait', async () => {
        appendFileSync('pid.txt', process.pid + '\\n');
        await setTimeout(${milliseconds});
        return 'rested';
      }),
    });
  `;

  it('lets a process finish that is nearly done', async () => {
    const project = projectOf({ 'slow.ts': SLOW(1_000) });
    const server = serverOf(project, ['slow.ts'], { timing: { shutdownGraceMs: 30_000 } });
    await server.ready();
    const run = await server.start('slow');
    await until('it runs', () => project.lines('pid.txt')[0]);
    await server.kill('SIGTERM');
    expect(server.log).toMatch(new RegExp(`${run} +succeeded`));
    expect(server.lines.at(-1)).toBe('stopped');
    expect(server.child.exitCode).toBe(0);
  });

  it('ends one that is not, and goes on with its run at the next start', async () => {
    const project = projectOf({ 'slow.ts': SLOW(60_000) });
    const server = serverOf(project, ['slow.ts'], { timing: { shutdownGraceMs: 200 } });
    await server.ready();
    const run = await server.start('slow');
    const pid = Number(await until('it runs', () => project.lines('pid.txt')[0]));
    await server.kill('SIGTERM');
    expect(server.log).toMatch(new RegExp(`${run} +is cut off; it goes on at the next start`));
    expect(server.child.exitCode).toBe(0);
    expect(isAlive(pid)).toBe(false);

    project.write('slow.ts', SLOW(0));
    const next = serverOf(project, ['slow.ts']);
    await next.ready();
    expect(await next.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'rested' });
  });
});
