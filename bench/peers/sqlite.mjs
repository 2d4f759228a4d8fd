// LangGraph.js on its SQLite saver: a loop or a function of steps with results of 1 KB, or the conversation. Prints the
// time it took, and the milliseconds that a new saver and graph on the same file need to go on from there.
import { join } from 'node:path';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { Annotation, END, entrypoint, MessagesAnnotation, START, StateGraph, task } from '@langchain/langgraph';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { stopwatch } from '../stopwatch.ts';
import { freshText, RUN, turn } from '../works.ts';

const [folder, work, count] = process.argv.slice(2);
const steps = Number(count);
const configurable = { thread_id: RUN };
const results = Array.from({ length: steps }, (_, at) => freshText(at, 114));
const begin = { 'steps-full': loop, steps: loop, function: functional, conversation: converse }[work];

const times = await opened(({ run }) => timed(run));
const resumed = await opened(({ resume }) => resume && timed(resume));
console.log(JSON.stringify({ ...times, resumeMs: resumed && resumed.seconds * 1000 }));

async function opened(use) {
  const checkpointer = SqliteSaver.fromConnString(join(folder, 'checkpoints.db'));
  if (work === 'steps-full') checkpointer.db.pragma('synchronous = FULL');
  try {
    return await use(begin(checkpointer));
  } finally {
    checkpointer.db.close();
  }
}

async function timed(run) {
  const stop = stopwatch();
  await run();
  return stop();
}

function loop(checkpointer) {
  const graph = new StateGraph(Annotation.Root({ done: Annotation(), result: Annotation() }))
    .addNode('work', ({ done }) => ({ done: done + 1, result: results[done] }))
    .addEdge(START, 'work')
    .addConditionalEdges('work', ({ done }) => (done < steps ? 'work' : END))
    .compile({ checkpointer });
  const options = { configurable, recursionLimit: steps + 10, durability: 'sync' };
  return {
    run: () => graph.invoke({ done: 0, result: '' }, options),
    // It loads the last state; nothing is replayed.
    async resume() {
      const { done } = await graph.invoke(null, options);
      if (done !== steps) throw new Error(`It is at step ${done}.`);
    },
  };
}

/** The functional API, whose tasks are remembered and replayed; it fails behind the last one, so that it can go on. */
function functional(checkpointer) {
  let ran = 0;
  let stops = true;
  const step = task('work', async (at) => {
    ran += 1;
    return results[at];
  });
  const flow = entrypoint({ name: 'flow', checkpointer }, async () => {
    for (let at = 0; at < steps; at++) await step(at);
    if (stops) throw new Error('stop');
  });
  const options = { configurable, recursionLimit: steps + 10, durability: 'sync' };
  return {
    run: () => flow.invoke(1, options).catch(ignoreStop),
    async resume() {
      stops = false;
      await flow.invoke(null, options);
      if (ran > 0) throw new Error(`${ran} tasks ran again.`);
    },
  };
}

function ignoreStop(error) {
  if (error.message !== 'stop') throw error;
}

function converse(checkpointer) {
  let reply = '';
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('model', () => ({ messages: [new AIMessage(reply)] }))
    .addEdge(START, 'model')
    .compile({ checkpointer });
  const turns = Array.from({ length: steps }, (_, at) => turn(at + 1));
  return {
    async run() {
      for (const [user, assistant] of turns) {
        reply = assistant.content;
        await graph.invoke({ messages: [new HumanMessage(user.content)] }, { configurable });
      }
    },
  };
}
