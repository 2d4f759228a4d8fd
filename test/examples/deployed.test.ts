import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AnyAgent } from 'waitstate';
import { embeddedStorage } from 'waitstate/embedded';
import { assistant } from '../../examples/model-loop/agent.ts';
import { refunds } from '../../examples/refunds/agent.ts';
import { payments } from '../../examples/refunds/shop.ts';
import { travel } from '../../examples/travel/agent.ts';
import { airlineBill } from '../../examples/travel/airline.ts';
import { exampleOf, freshServices, paidIn, totalOf } from './simulated.ts';

/** Bundles an example as a deployed function, and returns a function that invokes it in a new process each time. */
async function deployed(name: string): Promise<(run: string) => Promise<unknown>> {
  const outdir = join(String(process.env.WAITSTATE_FOLDER), 'function');
  await build({
    entryPoints: [`examples/${name}/agent.ts`],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir,
    outExtension: { '.js': '.mjs' },
    external: ['@aws-sdk/*'],
    logLevel: 'silent',
  });
  return async (run) => {
    const program = `import { handler } from ${JSON.stringify(pathToFileURL(join(outdir, 'agent.mjs')).href)};
      const context = { awsRequestId: String(process.pid), getRemainingTimeInMillis: () => 60_000 };
      const { end, status } = await handler(${JSON.stringify({ run })}, context);
      console.log(JSON.stringify({ end, status }));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  };
}

/** Storage in the folder that the functions use. */
function sameFolder() {
  const storage = embeddedStorage({ folder: String(process.env.WAITSTATE_FOLDER) });
  onTestFinished(() => storage.records.close());
  return { storage, log: () => {} };
}

const waits = { end: 'suspended', status: 'WAITING_FOR_APPROVAL' };
const succeeds = { end: 'finished', status: 'SUCCEEDED' };

freshServices();

describe('an example as a Lambda function, with each invocation in a new process', () => {
  it('books a trip after two approvals', async () => {
    const invoke = await deployed('travel');
    const run = await travel.with(sameFolder()).start(exampleOf(travel));
    expect(await invoke(run.id)).toEqual(waits);
    await run.decide({ approval: 'book', by: 'user:ann', answer: 'approve' });
    expect(await invoke(run.id)).toEqual(waits);
    expect(await totalOf(airlineBill)).toBe(0.8);
    await run.decide({ approval: 'book~2', by: 'user:ann', answer: 'approve' });
    expect(await invoke(run.id)).toEqual(succeeds);
    expect(await run.result()).toMatchObject({ booked: true, paid: '$2,200' });
    expect(await totalOf(airlineBill)).toBe(1500.8);
  });

  it('pays a refund after two approvals', async () => {
    const invoke = await deployed('refunds');
    const run = await refunds.with(sameFolder()).start(exampleOf(refunds));
    expect(await invoke(run.id)).toEqual(waits);
    const answer = { approval: 'refund', groups: ['group:finance'], answer: 'approve' } as const;
    await run.decide({ ...answer, by: 'user:ann' });
    expect(await invoke(run.id)).toMatchObject({ end: 'skipped' });
    await run.decide({ ...answer, by: 'user:bob' });
    expect(await invoke(run.id)).toEqual(succeeds);
    expect(await paidIn(payments)).toEqual([['refund of o-17', 80]]);
  });

  it('continues a model loop after a rejection', async () => {
    const invoke = await deployed('model-loop');
    const run = await assistant.with(sameFolder()).start(exampleOf(assistant));
    expect(await invoke(run.id)).toEqual(waits);
    const [approval] = await run.approvals();
    await run.decide({ approval: String(approval?.id), by: 'user:ann', answer: 'reject' });
    expect(await invoke(run.id)).toEqual({ end: 'suspended', status: 'WAITING_FOR_SIGNAL' });
  });
});

describe.each(globSync('examples/*/agent.ts'))('%s', (file) => {
  it('exports what the local server and a Lambda function need', async () => {
    const module = await import(pathToFileURL(resolve(file)).href);
    expect(module).toMatchObject({ handler: expect.any(Function) });
    const agents = Object.values(module).filter((each) => Object(each).invoke) as readonly AnyAgent[];
    expect(agents).toMatchObject([
      { name: basename(dirname(file)), description: expect.stringMatching(/^.{10,100}\.$/) },
    ]);
    for (const { example, parseInput } of agents) expect(await parseInput(example)).toEqual(example);
  });
});
