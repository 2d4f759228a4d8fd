import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Checkpoint, StaleVersionError, WaitstateError } from '../lambda/checkpoints.ts';
import { checkpointStore } from '../lambda/embedded.ts';
import { bold, dim, type Line, styled, truncate } from './terminal/line.ts';
import { createBookingAgent } from './tour/booking.ts';
import { CONTENT_WIDTH, heading, print, printIndented, printTable, printWrapped } from './tour/terminal.ts';
import type { Trip } from './tour/trip.ts';

const DATA_FOLDER = '.waitstate';

const HELP = `A tour of Waitstate in the terminal. It takes a few seconds and needs no network.

Usage: npm run tour [-- --folder FOLDER]

  --folder FOLDER  where to store the data; must be empty or new
                   (default: a new folder in ${DATA_FOLDER})
  --help           show this help

There are no colors if NO_COLOR is set or the output is not a terminal.`;

/** The folder of the tour and its store. */
interface Tour {
  readonly folder: string;
  readonly bill: string;
  open(writer?: string): ReturnType<typeof checkpointStore<Trip>>;
}

const RUN = 'trip';
const CHEAP = 'trip-cheap';
const BOOKING = 'booking';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { folder: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) return console.log(HELP);
  const folder = prepareFolder(values.folder);
  const open = (writer = 'the tour') => checkpointStore<Trip>({ folder, writer });
  const tour = { folder, bill: join(folder, 'bill.txt'), open };

  print('');
  print(bold('Waitstate: durable AI agents'));
  await crash(tour);
  await resume(tour);
  await race(tour);
  await showHistory(tour);
  await fork(tour);
  await verifyRuns(tour);
  await askHuman(tour);
  farewell(tour);
}

async function crash(tour: Tour): Promise<void> {
  heading(
    1,
    'An agent saves a checkpoint after each step',
    'It runs in a separate process. Each call of its flight search costs $0.40.',
  );
  const signal = await runAgent(tour, RUN, 'search flights');
  if (signal !== 'SIGKILL')
    throw new Error(`The agent should have been killed, but ended with ${signal ?? 'no signal'}.`);
}

async function resume(tour: Tour): Promise<void> {
  heading(2, 'A new process resumes from the last checkpoint', 'It knows only what the first one stored.');
  await runAgent(tour, RUN);
}

async function race(tour: Tour): Promise<void> {
  heading(
    3,
    'Two writers at the same time: one wins, the other gets an error',
    'Two devices approve version 3, with different seats.',
  );
  const devices = [
    { writer: 'phone', seat: 'window' },
    { writer: 'laptop', seat: 'aisle' },
  ];
  const answers = await Promise.allSettled(devices.map(({ writer, seat }) => approve(tour, writer, seat)));
  for (const [index, answer] of answers.entries()) {
    const writer = bold((devices[index]?.writer ?? '').padEnd(8));
    if (answer.status === 'fulfilled') {
      printIndented([
        writer,
        styled('green', `wrote version ${answer.value.version}`),
        `, ${answer.value.state.seat} seat`,
      ]);
    } else if (answer.reason instanceof StaleVersionError) {
      printIndented([writer, styled('yellow', 'StaleVersionError'), ', nothing overwritten:']);
      printWrapped(answer.reason.message);
    } else throw answer.reason;
  }
  await runAgent(tour, RUN);
}

async function approve(tour: Tour, writer: string, seat: string): Promise<Checkpoint<Trip>> {
  const store = tour.open(writer);
  try {
    const { state } = await store.load(RUN);
    return await store.save({
      run: RUN,
      expectedVersion: 3,
      step: 'approve',
      status: 'READY',
      state: { ...state, seat },
    });
  } finally {
    await store.close();
  }
}

async function showHistory(tour: Tour): Promise<void> {
  const store = tour.open();
  heading(4, 'The history of the run, and the changes from version 2 to 6');
  const rows = [['v', 'step', 'status', 'writer', 'bytes', 'name']];
  for await (const { version, step = '', status, writer, bytes, name = '' } of store.history(RUN)) {
    rows.push([String(version), step, status, writer, String(bytes), name]);
  }
  printTable(rows);
  const { text } = await store.diff(RUN, 2, 6);
  for (const line of text.split('\n'))
    printIndented(truncate(styled(line.startsWith('+') ? 'green' : 'yellow', line), CONTENT_WIDTH));
  await store.close();
}

async function fork(tour: Tour): Promise<void> {
  heading(5, 'A fork from version 2, with a smaller budget', 'The fork is a new run. It reuses the search result.');
  const store = tour.open();
  const edit = (draft: { budget: number }) => {
    draft.budget = 300;
  };
  await store.fork(RUN, { version: 2, id: CHEAP, edit });
  await runAgent(tour, CHEAP);
  const [first, second] = await Promise.all([store.load(RUN), store.load(CHEAP)]);
  printIndented(`${RUN.padEnd(12)}${describeFlight(first)}`, [
    CHEAP.padEnd(12),
    styled('green', describeFlight(second)),
  ]);
  await store.close();
}

const describeFlight = ({ state: { budget, flight } }: Checkpoint<Trip>): string =>
  `budget $${budget}, flight ${flight?.id} for $${flight?.price}`;

async function verifyRuns(tour: Tour): Promise<void> {
  const store = tour.open();
  heading(6, 'Verification, and the cost of the searches');
  for (const run of [RUN, CHEAP]) {
    const { ok, checkpoints, payloads = 0, problems } = await store.verify(run);
    const verdict = ok ? styled('green', 'intact') : styled('red', problems.map(({ problem }) => problem).join('; '));
    const read = `${pluralize(checkpoints, 'checkpoint')} in a hash chain, ${pluralize(payloads, 'payload')}`;
    printIndented([`verify ${run.padEnd(12)}`, verdict, `: ${read}`]);
  }
  const searches = readFileSync(tour.bill, 'utf8').trimEnd().split('\n').length;
  printIndented(['searches paid: ', styled('green', `${searches}`), ', in 4 processes with one crash and two runs']);
  await store.close();
}

async function askHuman(tour: Tour): Promise<void> {
  heading(
    7,
    'A durable agent asks for approval; nothing runs until Ann decides',
    'If the fare changes meanwhile, it asks again.',
  );
  const booking = createBookingAgent(tour.folder);
  const setFare = (fare: number) => writeFileSync(join(tour.folder, 'fare.txt'), String(fare));
  setFare(1200);
  const run = await booking.start(undefined, { id: BOOKING });
  for (const fare of [1500, 1500]) {
    await runProcess('booking', [tour.folder, BOOKING]);
    const [approval] = await run.approvals();
    if (!approval) throw new Error('The agent should have asked for approval, but did not.');
    setFare(fare);
    await run.decide({ approval: approval.id, by: 'user:ann', answer: 'approve' });
    printIndented([bold('ann'), `  approves: ${approval.title}`]);
  }
  await runProcess('booking', [tour.folder, BOOKING]);
  printIndented(['result: ', styled('green', String(await run.result()))]);
  await booking.store.close();
}

function farewell({ folder }: Tour): void {
  const command = (rest: string): Line => `npx node cli/main.ts ${rest} --folder ${folder}`;
  print('');
  printIndented(`The data is in ${folder}. Inspect it with:`, command(`show ${BOOKING}`), command(`diff ${RUN} 2 6`));
  printIndented([dim('Next: '), 'npm start', dim(', then README.md and docs/guides/durable-agents.md')]);
}

const pluralize = (number: number, what: string): string => `${number} ${what}${number === 1 ? '' : 's'}`;

const runAgent = ({ folder, bill }: Tour, run: string, crashAfter?: string): Promise<NodeJS.Signals | null> =>
  runProcess('agent', [folder, run, bill, ...(crashAfter ? [crashAfter] : [])]);

/** Runs an agent in a new process until it ends, prints its output, and returns the signal that ended it. */
async function runProcess(name: string, args: readonly string[]): Promise<NodeJS.Signals | null> {
  const program = fileURLToPath(new URL(`./tour/${name}.ts`, import.meta.url));
  const agent = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(agent, 'close');
  const prefix = dim(`pid ${agent.pid}  `);
  for await (const line of createInterface({ input: agent.stdout })) printIndented([prefix, line]);
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  if (signal)
    printIndented([prefix, styled('red', `killed (${signal}) right after the store confirmed the checkpoint`)]);
  else if (code !== 0) throw new Error(`The agent ended with exit code ${code}.`);
  return signal;
}

/** Creates a new folder for the tour, or checks that the given one is empty. */
function prepareFolder(given: string | undefined): string {
  if (given === undefined) {
    mkdirSync(DATA_FOLDER, { recursive: true });
    return mkdtempSync(join(DATA_FOLDER, 'tour-'));
  }
  if (existsSync(given) && readdirSync(given).length > 0) {
    throw new WaitstateError('INVALID_INPUT', `The folder ${given} is not empty. Choose a new one.`);
  }
  return given;
}

try {
  await main();
} catch (error) {
  const misused = error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  console.error(
    misused || error instanceof WaitstateError
      ? `The tour stopped: ${error.message}${misused ? ' See npm run tour -- --help.' : ''}`
      : error,
  );
  process.exitCode = 1;
}
