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

// Everything is said and heard in one blocking call: between a line and its answer nothing else happens in this process.

// Not imported from node:process, which would open stdin and make it one that does not block.
const { env } = process;
let heard = '';
let now = 0;
let isHeld = false;
let delivered: Delivery[] = [];

const say = (line: Line): void => void writeSync(1, `${JSON.stringify(line)}\n`);

/** The next line that the parent says. */
function hear(): string {
  const bytes = Buffer.alloc(4096);
  for (;;) {
    const end = heard.indexOf('\n');
    if (end >= 0) {
      const line = heard.slice(0, end);
      heard = heard.slice(end + 1);
      return line;
    }
    heard += bytes.toString('utf8', 0, readSync(0, bytes));
  }
}

/** Says where this process is, and stands still until it may go on. */
function pass(moment: string): void {
  if (!isHeld) return;
  say({ moment });
  hear();
}

function held({ records, payloads }: Storage): Storage {
  return {
    records: {
      ...records,
      async commit(writes) {
        pass('to commit');
        await records.commit(writes);
        pass('committed');
      },
    },
    payloads: {
      ...payloads,
      async put(partition, id, content) {
        pass('to put');
        await payloads.put(partition, id, content);
        pass('put');
      },
    },
  };
}

/** Loads no more than it needs: most of the life of a child is reading code. */
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

// It stands still but for pauses, and what waits for the end of the function waits for ever.
const clock: Clock = {
  now: () => now,
  async sleep(milliseconds, signal) {
    if (milliseconds > 10_000)
      await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    now += milliseconds;
  },
};

const agents = agentsOf(env.EFFECTS_FILE ?? '', env.CODE === '1' ? 1 : 3, {
  ...{ storage: held(await openStorage()), clock, chance: () => 0.5, log: () => {} },
  deliver: async (delivery) => void delivered.push(delivery),
  probe: (moment, _, step) => void pass(`${moment} ${step}`),
});

async function obey(command: Command): Promise<unknown> {
  const agent = agents.get(command.agent);
  if (!agent) throw new Error(`There is no agent ${command.agent}.`);
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
  const command = JSON.parse(hear()) as Command;
  now = Math.max(now, command.now);
  isHeld = command.held ?? false;
  delivered = [];
  try {
    say({ value: await obey(command), delivered });
  } catch (error) {
    say({ error: isWaitstateError(error) ? error.code : String(error), delivered });
  }
}
