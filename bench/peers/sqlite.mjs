// LangGraph.js on its SQLite saver: a loop of steps with results of 1 KB, or the conversation. Prints the seconds it took.
import { join } from 'node:path';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { freshText, RUN, turn } from '../works.ts';

const [folder, work, count] = process.argv.slice(2);
const steps = Number(count);
const checkpointer = SqliteSaver.fromConnString(join(folder, 'checkpoints.db'));
if (work === 'steps-full') checkpointer.db.pragma('synchronous = FULL');
const configurable = { thread_id: RUN };
const seconds = await (work === 'conversation' ? converse() : loop());
checkpointer.db.close();
console.log(seconds);

async function loop() {
  const results = Array.from({ length: steps }, (_, at) => freshText(at, 114));
  const graph = new StateGraph(Annotation.Root({ done: Annotation(), result: Annotation() }))
    .addNode('work', ({ done }) => ({ done: done + 1, result: results[done] }))
    .addEdge(START, 'work')
    .addConditionalEdges('work', ({ done }) => (done < steps ? 'work' : END))
    .compile({ checkpointer });
  const before = performance.now();
  await graph.invoke({ done: 0, result: '' }, { configurable, recursionLimit: steps + 10, durability: 'sync' });
  return (performance.now() - before) / 1000;
}

async function converse() {
  let reply = '';
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', () => ({ messages: [new AIMessage(reply)] }))
    .addEdge(START, 'model')
    .compile({ checkpointer });
  const turns = Array.from({ length: steps }, (_, at) => turn(at + 1));
  const before = performance.now();
  for (const [user, assistant] of turns) {
    reply = assistant.content;
    await graph.invoke({ messages: [new HumanMessage(user.content)] }, { configurable });
  }
  return (performance.now() - before) / 1000;
}
