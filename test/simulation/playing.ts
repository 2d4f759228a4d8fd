import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { AgentContext, StepContext, StepOptions } from '../../lambda/runtime/definition/agent-context.ts';
import { FatalError, RetryableError } from '../../lambda/runtime/definition/agent-errors.ts';
import { noise } from '../faults/seeded.ts';
import type { Process } from './process.ts';
import type { Move, Program, StepMove } from './program.ts';
import { requestApproval } from './requesting.ts';
import type { World } from './world.ts';

/** The state of simulated runs. */
export interface State {
  readonly log: readonly string[];
  readonly next: number;
  readonly out: readonly unknown[];
}

type Context = AgentContext<State>;

/** The result of a step: the number of its execution, and a text to compare. */
export interface StepOutput {
  readonly execution: number;
  readonly of: string;
  readonly padding?: string;
  readonly stubborn?: true;
}

/** Plays programs in one process. */
export class Player {
  readonly #world: World;
  readonly #process: Process;

  constructor(world: World, process: Process) {
    this.#world = world;
    this.#process = process;
  }

  async all(ctx: Context, program: Program): Promise<unknown[]> {
    const out: unknown[] = [];
    for (const move of program) out.push(await this.move(ctx, move));
    return out;
  }

  async move(ctx: Context, move: Move): Promise<unknown> {
    switch (move.do) {
      case 'step':
        return this.#step(ctx, move);
      case 'tool': {
        const { argument } = move;
        const work = (_: unknown, step: StepContext) =>
          this.#execute(ctx.run, move.at, step, { ms: 0, of: `tool ${argument}` });
        const output = await ctx.tool('price', { argument }, work, { cache: CACHES[move.cache] });
        return this.#see(ctx.run, move.at, output, move.cache === 'shared');
      }
      case 'update':
        await ctx.update((draft) => void draft.log.push(move.at));
        break;
      case 'note':
        await this.#note(ctx, move.at);
        break;
      case 'payload': {
        const text = noise(move.at, move.bytes);
        const kept = await ctx.step('keep', () => ctx.payload(text));
        const read = await ctx.step('read', async () => (await kept.text()) === text, { retry: PATIENT });
        if (!read) this.#world.addFinding(`run ${ctx.run}: a payload has other content than what was stored`);
        break;
      }
      case 'sleep':
        await ctx.sleep('nap', { milliseconds: move.ms });
        break;
      case 'signal': {
        const timeout = move.timeoutMs === undefined ? {} : { timeout: { milliseconds: move.timeoutMs } };
        const signal = (await ctx.waitForSignal(move.name, timeout)) as string | undefined;
        this.#world.ledger.receive(ctx.run, move.at, signal);
        return { signal: signal ?? null };
      }
      case 'approval':
        return { decision: await requestApproval(this.#world, ctx, move) };
      case 'call':
        return ctx.call<Program, unknown>(childAgent(move.at), move.moves);
      case 'try':
        try {
          return { tried: await this.all(ctx, move.moves) };
        } catch {
          return 'caught';
        }
      case 'all':
        return this.#branches(ctx, move);
      case 'throw':
        throw new Error(`thrown at ${move.at}`);
    }
    return move.do;
  }

  /** Undoes a step; some undos succeed only on a retry, and some always fail. */
  undo({ execution, stubborn }: StepOutput, { attempt }: StepContext): void {
    if (attempt === 1 && execution % 2 === 0)
      throw new RetryableError('Not now.', { retryAfter: execution % 4 === 0 ? { minutes: 20 } : { seconds: 2 } });
    const { undone } = this.#world.ledger;
    undone.set(execution, (undone.get(execution) ?? 0) + 1);
    if (stubborn) throw new FatalError('This cannot be undone.');
  }

  async #step(ctx: Context, move: Move & StepMove): Promise<unknown> {
    const { kind, at, ms, longPause, bytes, fails } = move;
    const undoable = kind === 'undoable' || kind === 'never undone';
    const options: StepOptions<StepOutput> = {
      retry: { maxAttempts: 3, initialDelay: longPause ? { minutes: 1 } : { milliseconds: 300 } },
      ...(kind === 'once' && { atMostOnce: true }),
      ...(undoable && !('done' in ctx && isTurn(ctx)) && { undo: (output, step) => this.undo(output, step) }),
    };
    const work = async (step: StepContext): Promise<StepOutput> => {
      const broken = kind === 'broken';
      const output = await this.#execute(ctx.run, at, step, {
        ms,
        of: `step ${at}`,
        once: kind === 'once',
        fails,
        broken,
      });
      return {
        ...output,
        ...(bytes > 0 && { padding: noise(output.execution, bytes) }),
        ...(kind === 'never undone' && { stubborn: true as const }),
      };
    };
    try {
      const output = await ctx.step(undoable ? 'book' : 'work', work, options);
      const seen = this.#see(ctx.run, at, output);
      return kind === 'once' ? { once: seen } : seen;
    } catch (error) {
      if (kind === 'once' && isWaitstateError(error, 'OUTCOME_UNKNOWN')) return { once: 'unknown' };
      throw error;
    }
  }

  async #execute(
    run: string,
    at: string,
    { idempotencyKey, attempt }: StepContext,
    { ms, of, once = false, fails = 0, broken = false }: Work,
  ): Promise<StepOutput> {
    const execution = this.#world.ledger.begin(run, at, idempotencyKey, this.#process, once);
    this.#world.note(this.#process, `runs ${of} of ${run}, attempt ${attempt}, execution ${execution.number}`);
    const { deadline = Infinity } = execution.invocation ?? {};
    if (ms > 0) await this.#process.clock.sleep(ms);
    if (attempt <= fails) throw new Error(`Attempt ${attempt} of ${of} fails.`);
    if (broken && !this.#world.ledger.fixed.has(run)) throw new FatalError('This is broken.');
    execution.finishedInTime = this.#process.clock.now() < deadline - STOP_MARGIN_MS;
    return { execution: execution.number, of };
  }

  /** Records that the agent saw a result; a replay must show it the same result again. */
  #see(run: string, at: string, { execution, of }: StepOutput, shared = false): string {
    const { ledger, truth } = this.#world;
    if (!shared) ledger.sightings.push({ run, execution, commits: truth.log.length });
    const key = `${run} ${at}`;
    const before = ledger.seen.get(key) ?? execution;
    ledger.seen.set(key, execution);
    if (before !== execution && !ledger.retried.has(run))
      this.#world.addFinding(`run ${run} saw execution ${before} at ${at}, then ${execution}`);
    return of;
  }

  async #note(ctx: Context, at: string): Promise<void> {
    const seen = `${(await ctx.now()).getTime()} ${ctx.random()} ${ctx.uuid()}`;
    const { notes } = this.#world.ledger;
    const before = notes.get(`${ctx.run} ${at}`);
    if (before !== undefined && before !== seen)
      this.#world.addFinding(`run ${ctx.run}: time and randomness at ${at} were ${before}, then ${seen}`);
    notes.set(`${ctx.run} ${at}`, seen);
    await ctx.checkpoint(`at ${at}`);
  }

  async #branches(
    ctx: Context,
    { branches, minSuccessful, concurrency }: Extract<Move, { do: 'all' }>,
  ): Promise<unknown> {
    const runs = branches.map((branch) => (inner: Context) => this.all(inner, branch));
    const limits = concurrency === undefined ? {} : { concurrency };
    if (minSuccessful === undefined) return ctx.all('both', runs, limits);
    const outcomes = await ctx.all('both', runs, { ...limits, minSuccessful });
    const fulfilled = outcomes.filter(({ status }) => status === 'fulfilled').length;
    if (fulfilled < minSuccessful)
      this.#world.addFinding(`run ${ctx.run}: expected ${minSuccessful} fulfilled branches, found ${fulfilled}`);
    return { minSuccessful: outcomes.map(({ status }) => status) };
  }
}

interface Work {
  readonly ms: number;
  readonly of: string;
  readonly once?: boolean;
  readonly fails?: number;
  readonly broken?: boolean;
}

// A function stops recording results this long before its deadline.
const STOP_MARGIN_MS = 1_500;

const PATIENT = { maxAttempts: 50, initialDelay: { seconds: 1 } };

const CACHES = {
  none: false,
  run: true,
  short: { minutes: 1 },
  shared: { hours: 1, shared: true },
} as const;

const isTurn = (ctx: Context): boolean => ctx.agent === 'turns';

/** The agent of the child run that a move calls. */
const childAgent = (at: string): string => (at.length % 2 === 0 ? 'turns' : 'programs');
