import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { bundledProgram } from '../../bundled-program.ts';
import type { Code } from './agents.ts';
import type { Command, CommandOutcome, Line } from './commands.ts';
import type { SharedStorage } from './shared-storage.ts';

const CHILD = await bundledProgram('test/runtime/processes/child-invoking');

/** A child process that performs commands in sequence. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #commands: Writable;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #errors = '';

  constructor({ env }: SharedStorage, code: Code = 3) {
    const child = spawn(process.execPath, [CHILD], {
      env: { ...process.env, ...env, CODE: String(code) },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#commands = child.stdio[3] as Writable;
    this.#closed = once(child, 'close');
    this.#lines = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
    // A killed process cannot receive anything.
    this.#commands.on('error', () => {});
    child.stderr?.on('data', (data) => {
      this.#errors += data;
    });
  }

  /** Sends a command; `nextLine` then returns its reply. */
  send(command: Command): void {
    this.#commands.write(`${JSON.stringify(command)}\n`);
  }

  /** Resumes it from the current moment. */
  resume(): void {
    this.#commands.write('go\n');
  }

  /** The next line that it writes. */
  async nextLine(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`A process ended unexpectedly: ${this.#errors}`);
    return JSON.parse(value) as Line;
  }

  /** Performs a command without pauses. */
  async perform(command: Command): Promise<CommandOutcome> {
    this.send(command);
    const line = await this.nextLine();
    if ('moment' in line) throw new Error(`A process paused at "${line.moment}" although it was not held.`);
    return line;
  }

  /** Resumes it until it reaches the given moment. */
  async advanceTo(moment: string): Promise<void> {
    for (;;) {
      const line = await this.nextLine();
      if (!('moment' in line)) throw new Error(`A process completed before "${moment}": ${JSON.stringify(line)}`);
      if (line.moment === moment) return;
      this.resume();
    }
  }

  /** Resumes it until the command is completed. */
  async finish(): Promise<CommandOutcome> {
    for (;;) {
      this.resume();
      const line = await this.nextLine();
      if (!('moment' in line)) return line;
    }
  }

  stop(): void {
    this.#child.kill('SIGSTOP');
  }

  continue(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}
