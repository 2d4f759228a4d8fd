import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Code } from './agents.ts';
import type { Command, CommandOutcome, Line } from './commands.ts';
import type { SharedStorage } from './shared-storage.ts';

const CHILD = fileURLToPath(new URL('./child-invoking.ts', import.meta.url));

/** A child process that performs commands in sequence. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #closed: Promise<unknown>;
  #errors = '';

  constructor({ env }: SharedStorage, code: Code = 3) {
    const child = spawn(process.execPath, [CHILD], {
      env: { ...process.env, ...env, CODE: String(code) },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#closed = once(child, 'close');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // A killed process cannot receive anything.
    child.stdin.on('error', () => {});
    child.stderr.on('data', (data) => {
      this.#errors += data;
    });
  }

  /** Sends a command; `nextLine` then returns its reply. */
  send(command: Command): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  /** Resumes it from the current moment. */
  resume(): void {
    this.#child.stdin?.write('go\n');
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
