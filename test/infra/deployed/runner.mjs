// A stand-in for the Node.js runtime of Lambda: loads the handler of a function and calls it with each event.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** @type {Promise<(event: unknown, context: object) => unknown> | undefined} */
let loading;
let startCpu = { user: 0, system: 0 };

/** The Waitstate variables that the function has read. */
const read = new Set();
process.env = new Proxy(process.env, {
  get(variables, name) {
    if (String(name).startsWith('WAITSTATE_')) read.add(name);
    return variables[name];
  },
  set(variables, name, value) {
    variables[name] = value;
    return true;
  },
});

process.on('disconnect', () => process.exit());

// Simulates an invocation days later.
let ahead = 0;
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length === 0 ? [RealDate.now() + ahead] : args));
  }
  static now() {
    return RealDate.now() + ahead;
  }
};

/** The log lines of this invocation. */
let lines = [];
for (const stream of [process.stdout, process.stderr])
  stream.write = (text) => {
    lines.push(...String(text).split('\n').filter(Boolean));
    return true;
  };

process.on('message', async ({ file, name, event, context, aheadMs, deadline }) => {
  ahead = aheadMs;
  const remaining = Date.now() + deadline;
  try {
    loading ??= import(pathToFileURL(file).href).then((module) => module[name]);
    const handler = await loading;
    const result = await handler(event, { ...context, getRemainingTimeInMillis: () => remaining - Date.now() });
    answer({ result: result === undefined ? null : result });
  } catch (error) {
    answer({ error: { errorType: error?.name, errorMessage: error?.message, code: error?.code, trace: error?.stack } });
  }
});

function answer(outcome) {
  const { user, system } = process.cpuUsage(startCpu);
  startCpu = process.cpuUsage();
  process.send({ ...outcome, cpuSeconds: (user + system) / 1e6, peakMB: peakMB(), read: [...read], lines });
  lines = [];
}

/** The peak memory of this process; `maxRSS` would also count that of its parent. */
function peakMB() {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}
