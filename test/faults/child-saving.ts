import { argv, env, stdout } from 'node:process';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { payload } from '../../lambda/checkpoints/payload.ts';
import { isWaitstateError } from '../../lambda/core/errors.ts';
import { checkpointStore as dynamoStore } from '../../lambda/dynamodb.ts';
import { checkpointStore as embeddedStore } from '../../lambda/embedded.ts';
import { noise } from './seeded.ts';

/** The state that the processes of these tests save. */
export interface Counted {
  readonly count: number;
  readonly log: readonly string[];
  readonly seen?: ReturnType<typeof payload>;
}

const [, , mode = '', run = '', times = ''] = argv;
const account = {
  region: env.AWS_REGION ?? 'us-east-1',
  ...(!env.AWS_ACCESS_KEY_ID && { credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
};

const store = env.DYNAMODB_ENDPOINT
  ? dynamoStore<Counted>({
      dynamoDBClient: new DynamoDBClient({ ...account, endpoint: env.DYNAMODB_ENDPOINT }),
      s3Client: new S3Client({ ...account, endpoint: env.S3_ENDPOINT ?? '', forcePathStyle: true }),
    })
  : embeddedStore<Counted>({ folder: env.WAITSTATE_FOLDER ?? '' });

// A short write to a pipe is atomic, and done before the process can die.
const print = (version: number): void => void stdout.write(`${version}\n`);

/** Saves until it is killed: mostly small states, sometimes a payload or a segment. Prints each confirmed version. */
async function saveForever(): Promise<void> {
  let found: { readonly version: number; readonly state: Counted } | undefined = await store.find(run);
  for (;;) {
    const { version, state } = found ?? { version: 0, state: { count: 0, log: [] } };
    try {
      found = await saveNext(version, state);
      print(found.version);
    } catch (error) {
      // The last write of a killed process may arrive after this process has loaded the run.
      if (!isWaitstateError(error, 'STALE_VERSION')) throw error;
      found = await store.load(run);
    }
  }
}

function saveNext(version: number, before: Counted) {
  const count = before.count + 1;
  const log = [...before.log.slice(-20), noise(count, count % 7 === 0 ? 9000 : 50)];
  const state = { count, log, ...(count % 5 === 0 && { seen: payload(noise(count, 2000)) }) };
  const name = count % 11 === 0 && { name: `name ${count}` };
  return store.save({ run, expectedVersion: version, state, step: `step ${count}`, ...name });
}

async function count(): Promise<void> {
  for (let index = 0; index < Number(times); index++) {
    const { version } = await store.update(run, (draft) => ({ ...draft, count: draft.count + 1 }));
    print(version);
  }
}

await (mode === 'save' ? saveForever() : count());
await store.close();
