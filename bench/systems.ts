import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { CheckpointStore } from '../lambda/checkpoints/checkpoint-store.ts';
import type { CheckpointStoreOptions } from '../lambda/checkpoints/context-factory.ts';
import { checkpointStore } from '../lambda/dynamodb.ts';
import { checkpointStore as memoryStore } from '../lambda/memory.ts';
import { TABLE } from '../lambda/storage/dynamodb/table.ts';
import type { Wire } from './wire.ts';
import { type Conversation, RUN, type Work } from './works.ts';

// Looks like the default on Lambda; fixed, so that counts do not depend on this machine's host name.
const writer = '169.254.100.6/8';

/** A system that saves the state after every step of a workload. */
export interface System {
  readonly name: string;
  /** Prepares step n; only the returned function is measured. It throws if the system fails at this step. */
  step(step: number): () => Promise<unknown>;
}

/** Opens a store on one table and bucket, each time without cached state, as in a new process. */
export type OpenStore = (options?: CheckpointStoreOptions) => CheckpointStore<Conversation>;

/** Creates a table and a bucket, and returns them with their clients and the writer. */
export async function createDynamoTarget(wire: Wire) {
  const [table, bucket] = await Promise.all([wire.freshTable(TABLE), wire.freshBucket()]);
  return { table, bucket, dynamoDBClient: wire.dynamo, s3Client: wire.s3, writer };
}

/** Our store on DynamoDB and S3, with a new table and bucket. */
export async function dynamoStore(wire: Wire): Promise<OpenStore> {
  const target = await createDynamoTarget(wire);
  return (options = {}) => checkpointStore<Conversation>({ ...target, ...options });
}

/** Our store, with each step saved through `store.update`. */
export function waitstateSystem(store: CheckpointStore<Conversation>, work: Work, name = 'Waitstate'): System {
  return {
    name,
    step(step) {
      const change = work.step(step);
      if (step > 1) return () => store.update(RUN, change, { step: 'call model' });
      const state = work.initialState();
      change(state);
      return () => store.save({ run: RUN, state, step: 'call model' });
    },
  };
}

/** The same on in-memory storage, which leaves only the CPU time of our own code. */
export const waitstateInMemory = (work: Work): System => waitstateSystem(memoryStore<Conversation>({ writer }), work);

/** What most checkpointers do: write the whole state to one item at every step. */
export async function wholeStateSystem(wire: Wire, work: Work): Promise<System> {
  const TableName = await wire.freshTable({
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [
      { AttributeName: 'pk', KeyType: 'HASH' },
      { AttributeName: 'sk', KeyType: 'RANGE' },
    ],
    AttributeDefinitions: [
      { AttributeName: 'pk', AttributeType: 'S' },
      { AttributeName: 'sk', AttributeType: 'S' },
    ],
  });
  const state = work.initialState();
  return {
    name: 'whole state',
    step(step) {
      work.step(step)(state);
      const key = { pk: { S: RUN }, sk: { S: String(step).padStart(10, '0') } };
      return () => {
        const Item = { ...key, state: { S: JSON.stringify(state) } };
        return wire.dynamo.send(
          new PutItemCommand({ TableName, Item, ConditionExpression: 'attribute_not_exists(pk)' }),
        );
      };
    },
  };
}
