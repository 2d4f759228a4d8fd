// The conversation on @rwai/langgraphjs-checkpoint-dynamodb under LangGraph.js, one turn for each message from the parent, so
// that the parent can read the counter in between. The CommonJS build: the ES module build does not load in Node.
import { createRequire } from 'node:module';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { RUN, turn } from '../works.ts';

const { DynamoDBSaver } = createRequire(import.meta.url)('@rwai/langgraphjs-checkpoint-dynamodb');

const groups = Number(process.argv[3]);
const clientConfig = {
  endpoint: process.argv[2],
  region: 'us-east-1',
  credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
};
const client = new DynamoDBClient(clientConfig);
const checkpointsTableName = `rwai-checkpoints-${process.pid}`;
const writesTableName = `rwai-writes-${process.pid}`;
await createTable(checkpointsTableName, 'thread_id', 'checkpoint_id');
await createTable(writesTableName, 'thread_id_checkpoint_id_checkpoint_ns', 'task_id_idx');

const checkpointer = new DynamoDBSaver({ clientConfig, checkpointsTableName, writesTableName });
let reply = '';
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', () => ({ messages: [new AIMessage(reply)] }))
  .addEdge('__start__', 'model')
  .compile({ checkpointer });

process.on('message', async (step) => {
  const [user, assistant] = turn(step, groups);
  reply = assistant.content;
  const before = process.cpuUsage();
  try {
    await graph.invoke({ messages: [new HumanMessage(user.content)] }, { configurable: { thread_id: RUN } });
    const { user: cpu, system } = process.cpuUsage(before);
    process.send({ cpuMs: (cpu + system) / 1000 });
  } catch (error) {
    process.send({ died: error instanceof Error ? error.message : String(error) });
  }
});
process.once('disconnect', () => process.exit());
process.send({ ready: true });

async function createTable(TableName, hash, range) {
  await client.send(
    new CreateTableCommand({
      TableName,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [
        { AttributeName: hash, KeyType: 'HASH' },
        { AttributeName: range, KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [hash, range].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    }),
  );
}
