import { readSync, writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { isWaitstateError } from '../../../lambda/core/errors.ts';
import { embeddedStorage } from '../../../lambda/embedded.ts';
import type { Clock } from '../../../lambda/runtime/clock.ts';
import { sweepDue } from '../../../lambda/runtime/control/sweep.ts';
import type { Delivery } from '../../../lambda/runtime/runtime.ts';
import type { Storage } from '../../../lambda/storage/ports.ts';
import { agentsOf } from './agents.ts';
import type { Command, Line } from './commands.ts';

// Reads and writes block, so that nothing else happens in this process between a line and its reply.

// Not the standard input: Node makes that one non-blocking as soon as a package imports node:process.
const COMMANDS = 3;
const { env } = process;
let buffered = '';
let now = 0;
let isHeld = false;
let delivered: Delivery[] = [];

const writeLine = (line: Line): void => void writeSync(1, `${JSON.stringify(line)}\n`);

/** Reads the next line from the parent. */
function readLine(): string {
  const bytes = Buffer.alloc(4096);
  for (;;) {
    const end = buffered.indexOf('\n');
    if (end >= 0) {
      const line = buffered.slice(0, end);
      buffered = buffered.slice(end + 1);
      return line;
    }
    buffered += bytes.toString('utf8', 0, readSync(COMMANDS, bytes));
  }
}

/** Reports where this process is, and blocks until the parent resumes it. */
function pauseAt(moment: string): void {
  if (!isHeld) return;
  writeLine({ moment });
  readLine();
}

function withPauses({ records, payloads }: Storage): Storage {
  return {
    records: {
      ...records,
      async commit(writes) {
        pauseAt('to commit');
        await records.commit(writes);
        pauseAt('committed');
      },
    },
    payloads: {
      ...payloads,
      async put(partition, id, content) {
        pauseAt('to put');
        await payloads.put(partition, id, content);
        pauseAt('put');
      },
    },
  };
}

/** Loads only the modules that it needs: a child spends most of its time loading code. */
async function openStorage(): Promise<Storage> {
  if (!env.DYNAMODB_ENDPOINT) return embeddedStorage({ folder: env.WAITSTATE_FOLDER ?? '', clock: () => now });
  const { dynamoStorage } = await import('../../../lambda/dynamodb.ts');
  const { DynamoDBClient } = await import('@aws-sdk/client-dynamodb');
  const { S3Client } = await import('@aws-sdk/client-s3');
  const account = {
    region: env.AWS_REGION ?? 'us-east-1',
    ...(!env.AWS_ACCESS_KEY_ID && { credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
  };
  return dynamoStorage({
    dynamoDBClient: new DynamoDBClient({ ...account, endpoint: env.DYNAMODB_ENDPOINT }),
    s3Client: new S3Client({ ...account, endpoint: env.S3_ENDPOINT ?? '', forcePathStyle: true }),
  });
}

// The clock advances only for short sleeps; the deadline of the function never passes.
const clock: Clock = {
  now: () => now,
  async sleep(milliseconds, signal) {
    if (milliseconds > 10_000)
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    now += milliseconds;
  },
};

const agents = agentsOf(env.EFFECTS_FILE ?? '', env.CODE === '1' ? 1 : 3, {
  storage: withPauses(await openStorage()),
  clock,
  random: () => 0.5,
  log: () => {},
  deliver: async (delivery) => void delivered.push(delivery),
  probe: (moment, _, step) => void pauseAt(`${moment} ${step}`),
});

async function execute(command: Command): Promise<unknown> {
  const agent = agents.get(command.agent);
  if (!agent) throw new Error(`Unknown agent "${command.agent}".`);
  const run = agent.run(command.run);
  switch (command.do) {
    case 'start':
      return (await agent.start(command.input as never, { id: command.run })).id;
    case 'invoke': {
      const end = await agent.invoke({ run: command.run }, { by: command.by, until: now + command.seconds * 1000 });
      return end.end === 'failed' ? { ...end, error: String(end.error) } : end;
    }
    case 'decide':
      return (await run.decide(command)).status;
    case 'signal':
      return run.signal(command.name, command.value, { id: command.id });
    case 'sweep': {
      const { failed, ...report } = await sweepDue({ runtime: agent.runtime });
      return { ...report, failed: failed.map(({ error }) => String(error)) };
    }
  }
}

flushCompileCache();
for (;;) {
  const command = JSON.parse(readLine()) as Command;
  now = Math.max(now, command.now);
  isHeld = command.held ?? false;
  delivered = [];
  try {
    writeLine({ value: await execute(command), delivered });
  } catch (error) {
    writeLine({ error: isWaitstateError(error) ? error.code : String(error), delivered });
  }
}
