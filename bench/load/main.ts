import { parseArgs } from 'node:util';
import { print } from '../table.ts';
import { load } from './load.ts';

const HELP = `npm run load -- [options]

Puts the local server, in its own process on 127.0.0.1, under load. First come whole stories: a run starts, waits for an
approval, is decided by link or API, and ends; each invocation of the agent has its own process. Then come API requests and
console pages, one kind at a time and mixed. Checks that no request failed and that no run is lost, duplicated or damaged,
and prints latencies and the server's memory. Exits with 1 if a check fails.

  --short             a short version of everything, in about half a minute
  --stories NUMBER    number of stories (default 120), six at a time
  --minutes NUMBER    how long to send the mix at 100 requests a second (default 5)
  --help              show this help`;

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
  const problems = await load({
    stories: Number(stories),
    minutes: Number(minutes),
    kindSeconds: short ? 1 : 4,
    mixSeconds: short ? 2 : 20,
    sampleMs: short ? 1_000 : 5_000,
    print,
  });
  process.exitCode = problems.length === 0 ? 0 : 1;
}
