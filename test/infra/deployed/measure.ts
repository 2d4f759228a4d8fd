// Measures memory and CPU time of the bundled functions. Usage: npx node test/infra/deployed/measure.ts
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDynamo, startS3 } from '../../engines/engine-processes.ts';
import { type Account, openAccount } from './account.ts';
import { readAssembly, synthesize } from './assembly.ts';
import type { DeployedFunction } from './functions.ts';
import { metricsIn } from './metrics.ts';
import { allOf, resolveTemplate } from './resolve.ts';
import { STACKS } from './stacks.ts';

const COLD = 5;
const WARM = 20;
const BATCH = 100;

const [dynamodb, s3] = await Promise.all([startDynamo(), startS3()]);
const who = { region: 'us-east-1', accessKeyId: 'test', secretAccessKey: 'test' };
const folder = mkdtempSync(join(tmpdir(), 'waitstate-assembly-'));
synthesize({ plain: STACKS.plain }, folder);
const assembly = readAssembly(folder);
const target = { name: 'measured', region: 'us-east-1', accountId: '111122223333' };
const deployed = resolveTemplate(assembly.templateOf('plain'), target);
const account = await openAccount(deployed, assembly, {
  dynamodb: { ...who, endpoint: dynamodb.endpoint },
  s3: { ...who, endpoint: s3.endpoint },
});
try {
  await invokeAll(account);
  const rows = [];
  for (const each of account.functions.filter(({ label }) => label !== 'Quotes' && label !== 'Agent-refunds'))
    rows.push(await measure(account, each));
  console.table(Object.fromEntries(rows));
} finally {
  await Promise.all([account.close(), dynamodb.stop(), s3.stop()]);
  rmSync(folder, { recursive: true });
}

/** Invokes every function once, so that there are events and runs to measure with. */
async function invokeAll({ http, flow, tick, invoke }: Account): Promise<void> {
  const role = allOf(deployed, 'AWS::IAM::Role').find(({ path }) => path.endsWith('/Operator'))?.ref ?? '';
  const request = (method: string, path: string, body?: object) =>
    http({
      method,
      url: `${deployed.outputs.WaitstateApiUrl}${path}`,
      caller: { role },
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  for (const agent of ['orders', 'quotes'])
    await request('POST', '/api/runs', { agent, id: agent, input: { item: 'lamp' } });
  await flow();
  await tick('Sweep');
  await tick('Gauge');
  await invoke('Checkpoint', { waitstate: 1, action: 'load', run: 'quotes' });
  await request('GET', '/console/runs/orders');
}

/** The newest event of a function that caused metrics, or else the newest; with `isFull`, as a full stream batch. */
function eventOf({ invocations }: Account, label: string, isFull: boolean): object {
  const own = invocations.filter((each) => each.label === label);
  const { event = {} } = own.findLast(({ lines }) => metricsIn(lines).length > 0) ?? own.at(-1) ?? {};
  const { Records: [first] = [] } = event as { Records?: object[] };
  return isFull && first ? { Records: Array.from({ length: BATCH }, () => first) } : (event as object);
}

async function measure(from: Account, each: DeployedFunction): Promise<readonly [string, object]> {
  const cold: { cpuSeconds: number; peakMB: number }[] = [];
  const warm: number[] = [];
  let peak = 0;
  for (let round = 0; round < COLD; round++) {
    const sandbox = from.sandboxOf(each);
    const call = async (isFull: boolean) => {
      const outcome = await sandbox.invoke(eventOf(from, each.label, isFull), from.contextOf(each, 'request'));
      if (outcome.error) throw new Error(`${each.label}: ${outcome.error.errorMessage}`);
      return outcome;
    };
    cold.push(await call(false));
    for (let time = 0; time < WARM; time++) warm.push((await call(false)).cpuSeconds);
    peak = Math.max(peak, (await call(true)).peakMB);
    await sandbox.end();
  }
  return [
    each.label,
    {
      'memory MB': each.memoryMB,
      'cold CPU ms': Math.round(1000 * median(cold.map(({ cpuSeconds }) => cpuSeconds))),
      'cold peak MB': Math.round(median(cold.map(({ peakMB }) => peakMB))),
      'warm CPU ms': Number((1000 * median(warm)).toFixed(1)),
      [`peak MB after ${WARM} and a full batch`]: Math.round(peak),
      // A full vCPU corresponds to 1,769 MB. https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
      'cold ms at this memory': Math.round(
        (1000 * median(cold.map(({ cpuSeconds }) => cpuSeconds)) * 1769) / Math.min(1769, each.memoryMB),
      ),
    },
  ];
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
