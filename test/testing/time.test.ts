import { exec } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, createConnection, createServer as createSocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as realTime } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type AgentContext, agent, type StepOptions } from '../../lambda/index.ts';
import { type TestEnvironment, testAgents } from '../../lambda/testing.ts';

const seconds = (from: number, to: number) => (to - from) / 1_000;

/** An agent with one step; it returns the value of the step, or the code of its error. */
const stepping = (work: () => unknown, options: StepOptions<unknown> = {}) =>
  agent({
    name: 'stepping',
    run: (ctx: AgentContext) =>
      ctx.step('work', work, options).catch((error: { readonly code: string }) => `failed with ${error.code}`),
  });

const ONCE = { timeout: { seconds: 30 }, retry: { maxAttempts: 1 } } as const;
const GO = { title: 'Go?', approvers: ['user:ann'] } as const;
const never = () => new Promise<never>(() => {});

describe('the timeout of a step', () => {
  it('passes by the clock of the world when its function waits for a promise that never settles', async () => {
    const world = testAgents(stepping(never, ONCE));
    const before = world.clock.now();
    const run = await world.start({});
    expect(await run.result()).toBe('failed with TIMED_OUT');
    expect(seconds(before, world.clock.now())).toBe(30);
  });

  it('passes when its function sleeps longer by the clock of the world, and not when it sleeps shorter', async () => {
    const sleeping = (ms: number) => {
      const world: TestEnvironment = testAgents(stepping(() => world.clock.sleep(ms).then(() => 'slept'), ONCE));
      return world;
    };
    expect(await (await sleeping(40_000).start({})).result()).toBe('failed with TIMED_OUT');
    const shorter = sleeping(20_000);
    const before = shorter.clock.now();
    expect(await (await shorter.start({})).result()).toBe('slept');
    expect(seconds(before, shorter.clock.now())).toBe(20);
  });

  it('passes for each attempt, with the retry delays in between', async () => {
    const attempts: number[] = [];
    const world = testAgents(
      stepping(
        () => {
          attempts.push(world.clock.now());
          return never();
        },
        { timeout: { seconds: 30 }, retry: { maxAttempts: 3, initialDelay: { seconds: 2 }, backoffRate: 2 } },
      ),
    );
    const before = world.clock.now();
    expect(await (await world.start({})).result()).toBe('failed with TIMED_OUT');
    const [first, second, third] = attempts.map((time) => seconds(before, time));
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(30);
    expect(third).toBeGreaterThan((second ?? 0) + 30);
    expect(third).toBeLessThan(70);
  });

  it('passes in real time when the function really takes longer', async () => {
    const world = testAgents(stepping(() => realTime(60_000), { ...ONCE, timeout: { milliseconds: 50 } }));
    expect(await (await world.start({})).result()).toBe('failed with TIMED_OUT');
  });

  it('does not pass while other steps of the run do real work', async () => {
    const world: TestEnvironment = testAgents(
      agent({
        name: 'both',
        run: (ctx) =>
          Promise.all([
            ctx.step('long', () => realTime(400, 'done'), ONCE),
            ctx.step('short', () => world.clock.sleep(5_000), ONCE).then(() => 'slept'),
          ]),
      }),
    );
    expect(await (await world.start({})).result()).toEqual(['done', 'slept']);
  });
});

describe('a step with a timeout that does real work', () => {
  const server = async () => {
    const slow = createServer((_, response) => void realTime(400).then(() => response.end('served')));
    await new Promise<void>((listening) => slow.listen(0, '127.0.0.1', listening));
    onTestFinished(() => void slow.close());
    return `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  };

  it.each<[string, () => Promise<unknown>, unknown]>([
    ['waits for a timer', () => realTime(400, 'woken'), 'woken'],
    ['calls a server', async () => (await fetch(await server())).text(), 'served'],
    ['runs a program', async () => (await promisify(exec)('sleep 0.4; echo ran')).stdout, 'ran\n'],
    [
      'runs a thread',
      () =>
        new Promise((ran) => new Worker('setTimeout(() => {}, 400)', { eval: true }).once('exit', () => ran('ran'))),
      'ran',
    ],
  ])('completes when it %s', async (_, work, expected) => {
    const world = testAgents(stepping(work, ONCE));
    const before = world.clock.now();
    expect(await (await world.start({})).result()).toBe(expected);
    expect(world.clock.now()).toBe(before);
  });
});

describe('a step with a timeout that waits for something outside of its process', () => {
  it('completes when it reads a file that takes long', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'waitstate-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const pipe = join(folder, 'pipe');
    await promisify(exec)(`mkfifo ${pipe}`);
    exec(`sleep 0.6; echo written > ${pipe}`);
    const world = testAgents(stepping(async () => String(await readFile(pipe)), ONCE));
    expect(await (await world.start({})).result()).toBe('written\n');
  });

  it('completes when it uses a connection that was idle before', async () => {
    const server = new Worker(
      `const http = require('node:http');
      const server = http.createServer((request, response) =>
        setTimeout(() => response.end('served'), request.url === '/slow' ? 600 : 0));
      server.listen(0, '127.0.0.1', () => require('node:worker_threads').parentPort.postMessage(server.address().port));`,
      { eval: true },
    );
    onTestFinished(() => void server.terminate());
    const [port] = await once(server, 'message');
    const get = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).text();
    const connections = () => process.getActiveResourcesInfo().filter((type) => type === 'TCPSocketWrap').length;
    const before = connections();
    await get('/');
    // The client keeps the connection open, but it does not keep the process alive.
    await vi.waitFor(() => expect(connections()).toBeLessThanOrEqual(before), { timeout: 20_000 });
    const world = testAgents(stepping(() => get('/slow'), ONCE));
    expect(await (await world.start({})).result()).toBe('served');
  });
});

describe('a step with a timeout in a process with an open connection', () => {
  const connect = async (respond: (socket: Socket) => void) => {
    const listener = createSocketServer(respond);
    await new Promise<void>((listening) => listener.listen(0, '127.0.0.1', listening));
    const socket = createConnection((listener.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    onTestFinished(() => {
      socket.destroy();
      listener.close();
    });
    return socket;
  };

  it('completes when it waits for a response', async () => {
    // Without `ref`, because the timer of another process would not be visible either.
    const respond = (peer: Socket) => void realTime(600, undefined, { ref: false }).then(() => peer.write('row'));
    const socket = await connect((peer) => peer.on('data', () => respond(peer)));
    const query = async () => {
      socket.write('query');
      const [data] = await once(socket, 'data');
      return String(data);
    };
    expect(await (await testAgents(stepping(query, ONCE)).start({})).result()).toBe('row');
  });

  it('times out when it waits for nothing', async () => {
    await connect(() => {});
    expect(await (await testAgents(stepping(never, ONCE)).start({})).result()).toBe('failed with TIMED_OUT');
  });
});

describe('a step with a timeout that computes in other threads', () => {
  it('completes, because the CPU time of the process shows that it is busy', async () => {
    const computed = Promise.withResolvers<string>();
    let measured = 0;
    const usage = vi.spyOn(process, 'cpuUsage').mockImplementation(() => {
      measured += 1;
      if (measured > 8) computed.resolve('hashed');
      return { user: measured < 8 ? 400_000 : 0, system: 0 };
    });
    onTestFinished(() => usage.mockRestore());
    const world = testAgents(stepping(() => computed.promise, ONCE));
    expect(await (await world.start({})).result()).toBe('hashed');
  });
});

describe('a function that hangs', () => {
  it('is stopped at its timeout, and the run fails after its attempts', async () => {
    const hanging = agent({ name: 'hanging', maxClaimsWithoutProgress: 2, run: (ctx) => ctx.step('work', never) });
    const world = testAgents(hanging, { functionTimeout: { minutes: 1 } });
    const run = await world.start({});
    await expect(run.result()).rejects.toThrow('was invoked 2 times');
  });

  it('ends by the timeout of its agent', async () => {
    const hanging = agent({ name: 'hanging', timeout: { minutes: 5 }, run: (ctx) => ctx.step('work', never) });
    const world = testAgents(hanging);
    const run = await world.start({});
    await expect(run.result()).rejects.toMatchObject({ cause: { code: 'TIMED_OUT' } });
  });

  it('lets the deadlines of other runs pass at their time', async () => {
    const mixed = agent({
      name: 'mixed',
      async run(ctx, input: 'ask' | 'hang') {
        if (input === 'ask') await ctx.approval('go', { ...GO, timeout: { minutes: 3 } });
        else await ctx.step('work', never, { timeout: { minutes: 10 }, retry: { maxAttempts: 1 } });
      },
    });
    const world = testAgents(mixed);
    const before = world.clock.now();
    const asking = await world.start('ask');
    await world.start('hang');
    expect(seconds(before, world.clock.now())).toBe(600);
    const ended = (await asking.checkpoints()).at(-1);
    expect(ended).toMatchObject({ status: 'SUCCEEDED', savedAt: new Date(before + 180_000) });
  });
});
