import { setTimeout as delay } from 'node:timers/promises';
import { encode, type RunCipher, type RunContext, randomId, sideRecord, withExpiry } from '../../checkpoints/engine.ts';
import { liveOutputKey } from '../../storage/keys.ts';
import type { Runtime } from '../runtime.ts';
import { errorFields } from '../telemetry.ts';

/** Output of one attempt of a step, in the order in which the step gave it. */
export interface StepOutput {
  readonly step: string;
  readonly attempt: number;
  /** 0 for the first output of the attempt. A reader that misses a number missed output. */
  readonly number: number;
  /** Texts that follow each other are joined. */
  readonly output: readonly unknown[];
}

/** The part of an invocation that live output needs. */
export interface StreamingInvocation {
  readonly at: RunContext;
  readonly runtime: Pick<Runtime, 'log'>;
  readonly writer: { readonly loaded: { readonly cipher: RunCipher } };
  readonly isOver: boolean;
}

// Each write costs at least one write unit, so output is collected for this long.
const WRITE_INTERVAL_MS = 300;
const EXPIRES_AFTER_MS = 3_600_000;
// More than this waits to be written only if the storage is slow; the recorded result has all of it.
const MAX_PENDING_CHARACTERS = 128 * 1024;

/**
 * Writes the output of running steps for readers who watch the run: best effort, a few times per second, in records that
 * expire after an hour. A failed write is logged once, and the run continues.
 */
export class LiveOutput {
  readonly #invocation: StreamingInvocation;
  readonly #pending = new Map<
    string,
    { readonly step: string; readonly attempt: number; readonly output: unknown[] }
  >();
  readonly #numbers = new Map<string, number>();
  readonly #writer = randomId(6);
  #characters = 0;
  #lastTime = 0;
  #isWriting = false;
  #hasFailed = false;

  constructor(invocation: StreamingInvocation) {
    this.#invocation = invocation;
  }

  add(step: string, attempt: number, output: unknown): void {
    const { length } = JSON.stringify(encode(output, { root: 'output', types: this.#invocation.at.types }));
    if (this.#characters + length > MAX_PENDING_CHARACTERS) return;
    this.#characters += length;
    const id = `${step} ${attempt}`;
    const pending = this.#pending.get(id) ?? { step, attempt, output: [] };
    this.#pending.set(id, pending);
    const last = pending.output.at(-1);
    if (typeof output === 'string' && typeof last === 'string')
      pending.output[pending.output.length - 1] = last + output;
    else pending.output.push(output);
    if (!this.#isWriting) this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    try {
      while (this.#pending.size > 0 && !this.#invocation.isOver) {
        // Does not keep the process running.
        await delay(WRITE_INTERVAL_MS, undefined, { ref: false });
        const pending = [...this.#pending];
        this.#pending.clear();
        this.#characters = 0;
        for (const [id, { step, attempt, output }] of pending) {
          const number = this.#numbers.get(id) ?? 0;
          this.#numbers.set(id, number + 1);
          await this.#write({ step, attempt, number, output });
        }
      }
    } catch (error) {
      if (!this.#hasFailed)
        this.#invocation.runtime.log('warn', 'Live output of a step could not be written; the run is not affected.', {
          run: this.#invocation.at.run,
          ...errorFields(error),
        });
      this.#hasFailed = true;
    } finally {
      this.#isWriting = false;
    }
  }

  async #write(output: StepOutput): Promise<void> {
    const { at, writer } = this.#invocation;
    this.#lastTime = Math.max(at.now(), this.#lastTime + 1);
    const key = liveOutputKey(this.#lastTime, this.#writer);
    const record = await sideRecord(at, writer.loaded.cipher, key, {}, output);
    await at.records.commit([
      { put: withExpiry(at.records, record, this.#lastTime + EXPIRES_AFTER_MS), when: 'absent' },
    ]);
  }
}
