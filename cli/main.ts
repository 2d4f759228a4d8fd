#!/usr/bin/env node
import { isSupportedNode, NODE } from './node-version.ts';

// The reader of the output may stop early, as `head` does.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

if (!isSupportedNode(process.versions.node)) {
  // The modules below may not load on an older Node.
  process.stderr.write(
    `✗ Waitstate needs Node ${NODE.minVersion} or later; this is ${process.version}. ${NODE.advice}\n`,
  );
  process.exitCode = 1;
} else {
  const [{ runCommand }, { processTerminal }] = await Promise.all([
    import('./run-command.ts'),
    import('./terminal/process-terminal.ts'),
  ]);
  process.exitCode = await runCommand(process.argv.slice(2), processTerminal());
}
