import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Client } from './client.ts';
import type { Latencies } from './latencies.ts';
import type { ServerUnderLoad } from './local-server.ts';

/** How a story ends: the approver approves or rejects, or the run is cancelled. */
type Ending = 'approved' | 'rejected' | 'cancelled';

/** A run that went from start to end. */
export interface Story {
  readonly run: string;
  readonly key: string;
  /** The body of the request that started it. */
  readonly started: object;
  readonly ending: Ending;
  readonly link: string;
}

interface StoryOptions {
  readonly server: ServerUnderLoad;
  readonly client: Client;
  readonly latencies: Latencies;
  /** Problems are added here. */
  readonly problems: string[];
}

/** Runs `count` stories, at most `concurrency` at a time, and returns those that ended. */
export async function runStories(options: StoryOptions, count: number, concurrency: number): Promise<readonly Story[]> {
  const stories: Story[] = [];
  let next = 0;
  const runNext = async () => {
    for (let i = next++; i < count; i = next++) {
      const story = await runStory(options, i).catch(
        (error) => void options.problems.push(`Story ${i}: ${error.message}`),
      );
      if (story) stories.push(story);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runNext));
  return stories;
}

async function runStory({ server, client, latencies, problems }: StoryOptions, i: number): Promise<Story> {
  const key = `story-${i}`;
  const started = { agent: 'load', input: { note: `number ${i}` }, tags: ['story'] };
  const startedAt = performance.now();
  const start = () =>
    client('start', '/api/runs', {
      headers: { 'idempotency-key': key },
      json: started,
    });
  // Some clients send the request three times, as they do when a response is lost.
  const starts = await Promise.all(Array.from({ length: i % 3 === 0 ? 3 : 1 }, start));
  const run = String(starts[0]?.json.run);
  const isOne = starts.every(({ status, json }) => status < 300 && json.run === run);
  if (!isOne || starts.filter(({ json }) => json.isNew === true).length !== 1)
    throw new Error(
      `Expected one new run for its idempotency key; found ${starts.map(({ status, json }) => `${json.run} (${status})`).join(', ')}`,
    );

  const link = await server.link(run);
  latencies.add('from start to notification', performance.now() - startedAt);
  const ending = i % 10 === 9 ? 'cancelled' : i % 5 === 4 ? 'rejected' : 'approved';
  const decidedAt = performance.now();
  for (const answer of await decide(client, { run, ending, link, i }))
    if (answer.status >= 400)
      throw new Error(`Expected its decision to be accepted; found status ${answer.status} (${answer.json.code}).`);
  const status = await waitForEnd(client, run);
  latencies.add('from decision to end', performance.now() - decidedAt);
  const expected = ending === 'cancelled' ? 'CANCELLED' : 'SUCCEEDED';
  if (status !== expected) problems.push(`Expected run ${run} to be ${expected}; found ${status}.`);
  return { run, key, started, ending, link };
}

interface StoryDecision extends Pick<Story, 'run' | 'ending' | 'link'> {
  readonly i: number;
}

/** Decides by the approval link, in a browser or by a program, or by the API; some decisions are sent three times at once. */
async function decide(client: Client, { run, ending, link, i }: StoryDecision): Promise<readonly Answer[]> {
  const path = new URL(link).pathname;
  if (ending === 'cancelled') return [await client('cancel', `/api/runs/${run}/cancel`, { json: {} })];
  const answer = ending === 'approved' ? 'approve' : 'reject';
  const inBrowser = { accept: 'text/html' };
  if (i % 3 === 1)
    return [await client('decide', `/api/runs/${run}/approvals/go/decide`, { json: { answer, by: 'user:ann' } })];
  const page = await client('approval page', path, { headers: inBrowser });
  const answers = Array.from({ length: i % 4 === 0 ? 3 : 1 }, () =>
    client('decide by link', path, i % 2 ? { json: { answer } } : { form: { answer }, headers: inBrowser }),
  );
  return [page, ...(await Promise.all(answers))];
}

const ENDED = ['SUCCEEDED', 'FAILED', 'CANCELLED'];
const MAX_WAIT_MS = 120_000;

async function waitForEnd(client: Client, run: string): Promise<string> {
  for (const startedAt = performance.now(); performance.now() - startedAt < MAX_WAIT_MS; await pause(100)) {
    const { status, json } = await client('get a run', `/api/runs/${run}`);
    if (status !== 200) throw new Error(`Expected status 200 for run ${run}; found ${status}.`);
    if (ENDED.includes(String(json.status))) return String(json.status);
  }
  throw new Error(`Expected run ${run} to end within ${MAX_WAIT_MS / 1000} seconds; it did not.`);
}
