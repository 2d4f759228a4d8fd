#!/usr/bin/env node
import { runCommand } from './run-command.ts';
import { processTerminal } from './terminal/process-terminal.ts';

// Whoever reads the output may stop early, as `head` does.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommand(process.argv.slice(2), processTerminal());
