#!/usr/bin/env node
import { isSupportedNode, NODE } from './node-version.ts';

// Whoever reads the output may stop early, as `head` does.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

if (!isSupportedNode(process.versions.node)) {
  // What is below may not even load.
  process.stderr.write(`✗ This is Node ${process.versions.node}, and ${NODE.least} is needed.\n  ${NODE.mend}\n`);
  process.exitCode = 1;
} else {
  const [{ runCommand }, { processTerminal }] = await Promise.all([
    import('./run-command.ts'),
    import('./terminal/process-terminal.ts'),
  ]);
  process.exitCode = await runCommand(process.argv.slice(2), processTerminal());
}
