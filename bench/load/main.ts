import { parseArgs } from 'node:util';
import { print } from '../table.ts';
import { load } from './load.ts';

const HELP = `npm run load -- [options]

Puts the local server, in a process of its own on 127.0.0.1, under load: whole stories (start, wait for a person, answer by
a link or the API, end), each invocation of the agent in its own process; then requests of the API and pages of the console,
one kind at a time and mixed. Checks that nothing failed and that no run is lost, doubled or damaged; prints how long things
took and what the server holds in memory. Exits with 1 when a check fails.

  --short             all of it for a moment, in about half a minute
  --stories NUMBER    how many stories (default 120), six at a time
  --minutes NUMBER    how long the mix goes on at 100 requests a second (default 5)
  --help              this`;

const { values: flags } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    stories: { type: 'string' },
    minutes: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

if (flags.help) print(HELP);
else {
  const { short, stories = short ? 9 : 120, minutes = short ? 0.1 : 5 } = flags;
  const wrongs = await load({
    ...{ stories: Number(stories), minutes: Number(minutes), kindSeconds: short ? 1 : 4, mixSeconds: short ? 2 : 20 },
    ...{ sampleMs: short ? 1_000 : 5_000, print },
  });
  process.exitCode = wrongs.length === 0 ? 0 : 1;
}
