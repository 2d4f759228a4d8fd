import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text as readAll } from 'node:stream/consumers';
import { styleText } from 'node:util';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { type Line, type Paint, render, truncate } from './line.ts';
import { Interrupted } from './prompt-errors.ts';
import type { Terminal } from './terminal.ts';
import { wrapLine } from './wrap-line.ts';

/** The streams and the environment of a process. */
export interface Streams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
}

/** The terminal, pipe or file that this process was started with. */
export function processTerminal(streams: Streams = process, now: () => number = Date.now): Terminal {
  const { stdin, stdout, stderr, env } = streams;
  const paintOut = createPaint(stdout);
  const paintErr = createPaint(stderr);
  const isInteractive = Boolean(stdin.isTTY && stderr.isTTY);
  let replaced = false;
  const clear = () => {
    if (replaced) stderr.write('\r\x1b[K');
    replaced = false;
  };
  return {
    columns: terminalColumns(stdout, env),
    environment: env,
    now,
    paint: paintOut,
    print: (...lines) => {
      clear();
      for (const line of lines) stdout.write(`${render(line, paintOut)}\n`);
    },
    printErr: (...lines) => {
      clear();
      for (const line of lines.flatMap((each) => wrapLine(each, terminalColumns(stderr, env))))
        stderr.write(`${render(line, paintErr)}\n`);
    },
    write: async (text) => {
      if (!stdout.write(text)) await once(stdout, 'drain');
    },
    readInput: () => readAll(stdin),
    ...(stdout.isTTY && { clear: () => void stdout.write('\x1b[2J\x1b[3J\x1b[H') }),
    ...(stderr.isTTY && {
      replaceLine: (line: Line | undefined) => {
        clear();
        if (line === undefined) return;
        stderr.write(render(truncate(line, terminalColumns(stderr, env) - 1), paintErr));
        replaced = true;
      },
    }),
    ...(isInteractive && {
      ask: async (question: Line) => {
        clear();
        return promptOn(streams, render(question, paintErr));
      },
      edit: (file: string) => editFile(env.VISUAL || env.EDITOR || 'vi', file),
    }),
  };
}

/** Styles apply only if the stream is a terminal that supports them and NO_COLOR is unset; styleText decides that. */
function createPaint(stream: NodeJS.WriteStream): Paint {
  const isPlain = styleText('bold', '.', { stream }) === '.';
  return isPlain ? (_, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

function terminalColumns(stream: NodeJS.WriteStream, { COLUMNS }: NodeJS.ProcessEnv): number {
  const given = Number(COLUMNS);
  return (stream.isTTY && stream.columns) || (Number.isSafeInteger(given) && given > 0 ? given : Infinity);
}

async function promptOn({ stdin: input, stderr: output }: Streams, question: string): Promise<string | undefined> {
  const lines = createInterface({ input, output });
  try {
    return await new Promise<string | undefined>((resolve, reject) => {
      lines.once('SIGINT', () => reject(new Interrupted()));
      lines.once('close', () => resolve(undefined));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}

/** Runs the editor in a shell, because EDITOR may contain arguments, such as `code --wait`. */
async function editFile(editor: string, file: string): Promise<void> {
  const child = spawn(`${editor} "$WAITSTATE_FILE"`, {
    shell: true,
    stdio: 'inherit',
    env: { ...process.env, WAITSTATE_FILE: file },
  });
  const [code, signal] = await once(child, 'close');
  if (code === 0) return;
  throw new WaitstateError(
    'INVALID_INPUT',
    `The editor "${editor}" ended with ${signal ?? `exit code ${code}`}. Set EDITOR to another editor, or pass --state FILE.`,
  );
}
