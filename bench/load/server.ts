// Runs the local server in its own process, as `waitstate dev` does, and reports approval links, problems and memory use.

import { serve } from '../../cli/dev/server/serve.ts';
import { type Line, render, toSpans } from '../../cli/terminal/line.ts';
import type { FromServer, ToServer } from './local-server.ts';

const [folder = '', ...files] = process.argv.slice(2);
const report = (message: FromServer): void => void process.send?.(message);

let waitingRun = '';

/** Reports the approval links and the problems that the server logs. */
function readLine(line: Line): void {
  const text = render(line, (_, plain) => plain);
  waitingRun = /(\S+)\s+asks /.exec(text)?.[1] ?? waitingRun;
  const url = /user:ann\s+(http\S+)/.exec(text)?.[1];
  if (url !== undefined) report({ kind: 'link', run: waitingRun, url });
  const isProblem = toSpans(line).some((span) => typeof span !== 'string' && /red/.test(String(span.style)));
  if (isProblem && !/rejected by/.test(text)) report({ kind: 'problem', text });
}

const server = await serve({ files, folder, port: 0, watch: false, print: readLine });
await server.ready;

process.on('message', async (message: ToServer) => {
  if (message === 'stop') {
    await server.stop();
    process.exit();
  }
  // Twice, because objects that finalizers release are collected only the second time.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  report({ kind: 'memory', rss, heapUsed, external });
});
process.on('disconnect', () => process.exit(1));
report({ kind: 'ready', url: server.url, key: server.key });
