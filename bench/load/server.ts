// The local server in a process of its own, as `waitstate dev` is one; it says which links it gave out, and what it holds in memory.

import { serve } from '../../cli/dev/server/serve.ts';
import { type Line, render, toSpans } from '../../cli/terminal/line.ts';
import type { FromServer, ToServer } from './local-server.ts';

const [folder = '', ...files] = process.argv.slice(2);
const tell = (told: FromServer): void => void process.send?.(told);

let asking = '';

/** Tells of links, and of what went wrong. */
function say(line: Line): void {
  const text = render(line, (_, plain) => plain);
  asking = /(\S+)\s+asks /.exec(text)?.[1] ?? asking;
  const url = /user:ann\s+(http\S+)/.exec(text)?.[1];
  if (url !== undefined) tell({ tell: 'link', run: asking, url });
  const isWrong = toSpans(line).some((piece) => typeof piece !== 'string' && /red/.test(String(piece.style)));
  if (isWrong && !/rejected by/.test(text)) tell({ tell: 'wrong', text });
}

const server = await serve({ files, folder, port: 0, watch: false, print: say });
await server.ready;

process.on('message', async (asked: ToServer) => {
  if (asked === 'stop') {
    await server.stop();
    process.exit();
  }
  // Twice: what finalizers let go of is gone only then.
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  tell({ tell: 'memory', rss, heapUsed, external });
});
process.on('disconnect', () => process.exit(1));
tell({ tell: 'ready', url: server.url, key: server.key });
