import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Code } from './agents.ts';
import type { Answered, Command, Line } from './commands.ts';
import type { SharedStorage } from './shared-storage.ts';

const CHILD = fileURLToPath(new URL('./child-invoking.ts', import.meta.url));

/** A process that does what it is told, one command after the other. */
export class Worker {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #over: Promise<unknown>;
  #errors = '';

  constructor({ env }: SharedStorage, code: Code = 3) {
    const child = spawn(process.execPath, [CHILD], {
      env: { ...process.env, ...env, CODE: String(code) },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#over = once(child, 'close');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    // One that was killed cannot hear.
    child.stdin.on('error', () => {});
    child.stderr.on('data', (data) => {
      this.#errors += data;
    });
  }

  /** Tells it to do something; `heard` then gives what it says. */
  tell(command: Command): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
  }

  /** Lets it go on from the moment at which it is. */
  go(): void {
    this.#child.stdin?.write('go\n');
  }

  /** What it says next. */
  async heard(): Promise<Line> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`A process ended by itself: ${this.#errors}`);
    return JSON.parse(value) as Line;
  }

  /** Does a command without stopping. */
  async does(command: Command): Promise<Answered> {
    this.tell(command);
    const line = await this.heard();
    if ('moment' in line) throw new Error(`A process stopped at "${line.moment}" without being asked to.`);
    return line;
  }

  /** Lets it go on to the first moment that is called so. */
  async reaches(moment: string): Promise<void> {
    for (;;) {
      const line = await this.heard();
      if (!('moment' in line)) throw new Error(`A process was done before "${moment}": ${JSON.stringify(line)}`);
      if (line.moment === moment) return;
      this.go();
    }
  }

  /** Lets it go on from wherever it is until it is done. */
  async finishes(): Promise<Answered> {
    for (;;) {
      this.go();
      const line = await this.heard();
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
    await this.#over;
  }
}
