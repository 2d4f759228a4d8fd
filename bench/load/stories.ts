import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Client } from './client.ts';
import type { Latencies } from './latencies.ts';
import type { ServerUnderLoad } from './local-server.ts';

/** How a story ends: whoever is asked says yes or no, or somebody cancels the run. */
type Ending = 'approved' | 'rejected' | 'cancelled';

/** A run from its start to its end. */
export interface Story {
  readonly run: string;
  readonly key: string;
  readonly ending: Ending;
  readonly link: string;
}

interface Telling {
  readonly server: ServerUnderLoad;
  readonly client: Client;
  readonly latencies: Latencies;
  /** What did not go as it must. */
  readonly wrongs: string[];
}

/** So many stories, so many at a time: each begins when another one is over. */
export async function runStories(telling: Telling, count: number, atOnce: number): Promise<readonly Story[]> {
  const told: Story[] = [];
  let next = 0;
  const teller = async () => {
    for (let i = next++; i < count; i = next++) {
      const story = await tell(telling, i).catch((error) => void telling.wrongs.push(`Story ${i}: ${error.message}`));
      if (story) told.push(story);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, teller));
  return told;
}

async function tell({ server, client, latencies, wrongs }: Telling, i: number): Promise<Story> {
  const key = `story-${i}`;
  const began = performance.now();
  const start = () =>
    client('start', '/api/runs', {
      headers: { 'idempotency-key': key },
      json: { agent: 'load', input: { note: `number ${i}` }, tags: ['story'] },
    });
  // Some clients send everything twice, as they do when an answer is lost.
  const starts = await Promise.all(Array.from({ length: i % 3 === 0 ? 3 : 1 }, start));
  const run = String(starts[0]?.json.run);
  const isOne = starts.every(({ status, json }) => status < 300 && json.run === run);
  if (!isOne || starts.filter(({ json }) => json.isNew === true).length !== 1)
    throw new Error(`its key started ${starts.map(({ status, json }) => `${json.run} (${status})`).join(', ')}`);

  const link = await server.link(run);
  latencies.add('until people are told', performance.now() - began);
  const ending = i % 10 === 9 ? 'cancelled' : i % 5 === 4 ? 'rejected' : 'approved';
  const decided = performance.now();
  for (const answer of await decide(client, { run, ending, link, i }))
    if (answer.status >= 400) throw new Error(`its answer was refused with ${answer.status} (${answer.json.code})`);
  const status = await untilEnd(client, run);
  latencies.add('from the answer to the end', performance.now() - decided);
  const expected = ending === 'cancelled' ? 'CANCELLED' : 'SUCCEEDED';
  if (status !== expected) wrongs.push(`Run ${run} is ${status}, not ${expected}.`);
  return { run, key, ending, link };
}

interface Deciding extends Pick<Story, 'run' | 'ending' | 'link'> {
  readonly i: number;
}

/** People answer by their link, on its page or by a program, and programs for them; a few answer twice at once. */
async function decide(client: Client, { run, ending, link, i }: Deciding): Promise<readonly Answer[]> {
  const path = new URL(link).pathname;
  if (ending === 'cancelled') return [await client('cancel', `/api/runs/${run}/cancel`, { json: {} })];
  const answer = ending === 'approved' ? 'approve' : 'reject';
  const inBrowser = { accept: 'text/html' };
  if (i % 3 === 1)
    return [await client('decide', `/api/runs/${run}/approvals/go/decide`, { json: { answer, by: 'user:ann' } })];
  const shown = await client('page of a link', path, { headers: inBrowser });
  const answers = Array.from({ length: i % 4 === 0 ? 3 : 1 }, () =>
    client('answer by a link', path, i % 2 ? { json: { answer } } : { form: { answer }, headers: inBrowser }),
  );
  return [shown, ...(await Promise.all(answers))];
}

const ENDED = ['SUCCEEDED', 'FAILED', 'CANCELLED'];
const MOST_MS = 120_000;

async function untilEnd(client: Client, run: string): Promise<string> {
  for (const began = performance.now(); performance.now() - began < MOST_MS; await pause(100)) {
    const { status, json } = await client('look at a run', `/api/runs/${run}`);
    if (status !== 200) throw new Error(`run ${run} is answered with ${status}`);
    if (ENDED.includes(String(json.status))) return String(json.status);
  }
  throw new Error(`run ${run} has not ended in ${MOST_MS / 1000} seconds`);
}
