import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { repeats } from '../../deep.ts';
import { randomFrom } from '../../faults/seeded.ts';
import { isAlive, type Project, projectOf, type ServerProcess, serverOf, sharedServer, until } from './scene.ts';

const STEPS = 8;
const KILLS = repeats(2, 4);

const WORK = `
  import { appendFileSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { agent } from 'waitstate';
  export const work = agent({
    name: 'work',
    maxClaimsWithoutProgress: 50,
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

/** Expects that every step ran and that no recorded step ran again. */
function expectEachOnce(project: Project, run: string): void {
  const paid = paidIn(project).filter((each) => each.run === run);
  const steps = paid.map(({ step }) => step);
  expect(steps).toEqual(steps.toSorted((a, b) => a - b));
  expect(new Set(steps).size).toBe(STEPS);
  // A step that runs again because its result was not recorded has the same idempotency key.
  expect(new Set(paid.map(({ key }) => key)).size).toBe(STEPS);
}

describe('the local server and killed processes', () => {
  it.each(repeats([1], [1, 2]))('resumes its runs after it was killed several times (seed %i)', async (seed) => {
    const random = randomFrom(seed);
    const project = projectOf({ 'work.ts': WORK });
    const killed: number[] = [];
    // A server resumes the runs of the one before it at once: a sweep would find them only after the lease.
    const timing = { leaseMs: 600_000 };
    let server: ServerProcess = serverOf(project, ['work.ts'], { timing });
    await server.ready();
    const runs = await Promise.all(['a', 'b', 'c'].map((id) => server.start('work', null, id)));
    for (let i = 0; i < KILLS; i++) {
      const before = paidIn(project).length;
      await until('something is paid', () => paidIn(project).length > before);
      await pause(random() * 150);
      await server.kill('SIGKILL');
      killed.push(...paidIn(project).map(({ pid }) => pid));
      await until('its processes are gone', () => killed.every((pid) => !isAlive(pid)));
      server = serverOf(project, ['work.ts'], { timing });
      await server.ready();
    }
    for (const run of runs) {
      expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'done' });
      expectEachOnce(project, run);
    }
    expect(server.log).toContain('resumes after an interruption');
  });

  it('ends together with its processes, even with a process in an endless loop and its children', async () => {
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
});

const PARENT = `
  import { spawn } from 'node:child_process';
  import { agent } from 'waitstate';
  export const parent = agent({
    name: 'parent',
    run: (ctx) => ctx.step('start', () => spawn('sleep', ['1000'], { stdio: 'inherit' }).pid),
  });
`;

const QUITS = `
  import { agent } from 'waitstate';
  export const quits = agent({
    name: 'quits',
    maxClaimsWithoutProgress: 3,
    async run(ctx) {
      await ctx.step('first', () => 1);
      process.exit(7);
    },
  });
`;

const STUCK = `
  import { appendFileSync, existsSync } from 'node:fs';
  import { agent } from 'waitstate';
  export const stuck = agent({
    name: 'stuck',
    run: (ctx) => ctx.step('once stuck', () => {
      if (existsSync('was-here.txt')) return 'free';
      appendFileSync('was-here.txt', 'x');
      // Blocks the process, like an endless loop.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    }),
  });
`;

const THROWS = `
  import { agent } from 'waitstate';
  export const throws = agent({
    name: 'throws',
    maxClaimsWithoutProgress: 1,
    async run(ctx) {
      setTimeout(() => { throw new Error('Nobody awaits me.'); }, 10);
      await ctx.step('wait', () => new Promise(() => {}));
    },
  });
`;

describe.concurrent('an agent process', () => {
  const { project, server } = sharedServer(
    { 'work.ts': WORK, 'parent.ts': PARENT, 'quits.ts': QUITS, 'throws.ts': THROWS },
    { timing: { crashBackoffMs: 20 } },
  );
  // The time limits must leave some time after the code is loaded.
  const limited = sharedServer(
    { 'stuck.ts': STUCK, 'work.ts': WORK.replace('setTimeout(80)', 'setTimeout(800)') },
    { timing: { heartbeatTimeoutMs: 6_000, invocationTimeoutMs: 5_000, crashBackoffMs: 20 } },
  );

  it('is killed and restarted when it does not respond', async () => {
    const run = await limited.server.start('stuck');
    await limited.server.waitForLine(new RegExp(`${run} +pid \\d+ did not respond for 6s and was killed`));
    expect(await limited.server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'free' });
  });

  it('yields at the time limit of an invocation, and the run continues in another process', async () => {
    const run = await limited.server.start('work');
    await limited.server.waitForLine(new RegExp(`${run} +continues in a new process`));
    await limited.server.becomes(run, 'SUCCEEDED');
    expectEachOnce(limited.project, run);
    expect(new Set(paidIn(limited.project).map(({ pid }) => pid)).size).toBeGreaterThan(1);
  });

  it('is restarted when it is killed several times, and the run resumes', async () => {
    const random = randomFrom(3);
    const run = await server.start('work');
    for (let kills = 1; kills <= KILLS; kills++) {
      const before = paidIn(project).length;
      const { pid } = await until('something is paid', () => paidIn(project)[before]);
      await pause(random() * 100);
      process.kill(pid, 'SIGKILL');
      await server.waitForLine(new RegExp(`${run} +pid \\d+ was killed \\(SIGKILL\\)`), kills);
    }
    await server.becomes(run, 'SUCCEEDED');
    expectEachOnce(project, run);
  });

  it('is restarted when it exits, until the run fails after maxClaimsWithoutProgress', async () => {
    const run = await server.start('quits');
    const failed = await server.becomes(run, 'FAILED');
    expect(failed.error).toMatchObject({ message: expect.stringContaining('first') });
    // The first attempt recorded a step, three more did not, and three more tried to end the run.
    expect(server.lines.filter((line) => /pid \d+ exited with code 7/.test(line))).toHaveLength(7);
    await server.waitForLine(new RegExp(`${run} +failed after .* Its last process exited with code 7\\.`));
  });

  it('is logged with its output when it throws an uncaught error', async () => {
    const run = await server.start('throws');
    await server.waitForLine(new RegExp(`${run} +│ Error: Nobody awaits me\\.`));
    await server.waitForLine(new RegExp(`${run} +pid \\d+ exited with code 1`));
    await server.becomes(run, 'FAILED');
  });

  it('ends together with its children', async () => {
    const { result: pid } = await server.becomes(await server.start('parent'), 'SUCCEEDED');
    await until('it is gone', () => !isAlive(Number(pid)));
  });
});

describe('stopping the local server', () => {
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

  it('lets a process finish within the grace period', async () => {
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

  it('kills a process after the grace period, and resumes its run at the next start', async () => {
    const project = projectOf({ 'slow.ts': SLOW(60_000) });
    const server = serverOf(project, ['slow.ts'], { timing: { shutdownGraceMs: 200 } });
    await server.ready();
    const run = await server.start('slow');
    const pid = Number(await until('it runs', () => project.lines('pid.txt')[0]));
    await server.kill('SIGTERM');
    expect(server.log).toMatch(new RegExp(`${run} +interrupted; resumes at the next start`));
    expect(server.child.exitCode).toBe(0);
    expect(isAlive(pid)).toBe(false);

    project.write('slow.ts', SLOW(0));
    const next = serverOf(project, ['slow.ts']);
    await next.ready();
    expect(await next.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'rested' });
  });
});
