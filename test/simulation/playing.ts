import { isWaitstateError } from '../../lambda/core/errors.ts';
import type { AgentContext, StepContext, StepOptions } from '../../lambda/runtime/definition/agent-context.ts';
import { FatalError, RetryableError } from '../../lambda/runtime/definition/agent-errors.ts';
import { noise } from '../faults/seeded.ts';
import type { Process } from './process.ts';
import type { ApprovalMove, Move, Program, StepMove } from './program.ts';
import type { World } from './world.ts';

/** What runs of the simulation carry. */
export interface State {
  readonly log: readonly string[];
  readonly next: number;
  readonly out: readonly unknown[];
}

type Context = AgentContext<State>;

/** What a step gives: which execution it was, and something to compare. */
export interface StepOutput {
  readonly execution: number;
  readonly of: string;
  readonly padding?: string;
  readonly stubborn?: true;
}

/** Does what programs say, in one process of a world. */
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
        const work = (_: unknown, tools: StepContext) =>
          this.#execute(ctx.run, move.at, tools, { ms: 0, of: `tool ${argument}` });
        const made = await ctx.tool('price', { argument }, work, { cache: CACHES[move.cache] });
        return this.#see(ctx.run, move.at, made, move.cache === 'shared');
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
        if (!read) this.#world.wrong(`run ${ctx.run}: a payload came back as another one`);
        break;
      }
      case 'sleep':
        await ctx.sleep('nap', { milliseconds: move.ms });
        break;
      case 'signal': {
        const timeout = move.timeoutMs === undefined ? {} : { timeout: { milliseconds: move.timeoutMs } };
        const signal = await ctx.waitForSignal<string>(move.name, timeout);
        this.#world.ledger.receive(ctx.run, move.at, signal);
        return { signal: signal ?? null };
      }
      case 'approval':
        return { decision: await this.#approval(ctx, move) };
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

  /** Takes a step back; some have to wait for it, and some never can. */
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
      retry: { attempts: 3, pause: longPause ? { minutes: 1 } : { milliseconds: 300 } },
      ...(kind === 'once' && { atMostOnce: true }),
      ...(undoable && !('done' in ctx && isTurn(ctx)) && { undo: (made, tools) => this.undo(made, tools) }),
    };
    const work = async (tools: StepContext): Promise<StepOutput> => {
      const broken = kind === 'broken';
      const made = await this.#execute(ctx.run, at, tools, {
        ms,
        of: `step ${at}`,
        once: kind === 'once',
        fails,
        broken,
      });
      return {
        ...made,
        ...(bytes > 0 && { padding: noise(made.execution, bytes) }),
        ...(kind === 'never undone' && { stubborn: true as const }),
      };
    };
    try {
      const made = await ctx.step(undoable ? 'book' : 'work', work, options);
      const seen = this.#see(ctx.run, at, made);
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
    const { deadline } = this.#process;
    if (ms > 0) await this.#process.clock.sleep(ms);
    if (attempt <= fails) throw new Error(`Attempt ${attempt} of ${of} fails.`);
    if (broken && !this.#world.ledger.mended.has(run)) throw new FatalError('This is broken.');
    execution.finishedInTime = this.#process.clock.now() < deadline - LET_GO_MS;
    return { execution: execution.number, of };
  }

  /** What the agent is shown must have been stored by now, and must be what it was shown here before. */
  #see(run: string, at: string, { execution, of }: StepOutput, shared = false): string {
    const { ledger, truth } = this.#world;
    if (!shared) ledger.sightings.push({ run, execution, commits: truth.log.length });
    const place = `${run} ${at}`;
    const before = ledger.seen.get(place) ?? execution;
    ledger.seen.set(place, execution);
    if (before !== execution && !ledger.retried.has(run))
      this.#world.wrong(`run ${run} saw execution ${before} at ${at}, and then ${execution}`);
    return of;
  }

  async #note(ctx: Context, at: string): Promise<void> {
    const seen = `${(await ctx.now()).getTime()} ${ctx.random()} ${ctx.uuid()}`;
    const { notes } = this.#world.ledger;
    const before = notes.get(`${ctx.run} ${at}`);
    if (before !== undefined && before !== seen)
      this.#world.wrong(`run ${ctx.run}: time and chance at ${at} were ${before} and then ${seen}`);
    notes.set(`${ctx.run} ${at}`, seen);
    await ctx.checkpoint(`at ${at}`);
  }

  async #approval(ctx: Context, move: Move & ApprovalMove): Promise<string> {
    const { approvers, quorum, onTimeout, timeoutMs, rechecks, changes, at } = move;
    const timed = timeoutMs !== undefined;
    const place = `${ctx.run} ${at}`;
    const { asked } = this.#world.ledger;
    const price = () => 100 + Math.min(changes, asked.get(place) ?? 0);
    try {
      const { status } = await ctx.approval('sign', {
        ...{ title: `May ${at} go on?`, show: { at }, approvers, quorum, facts: { price: 100 } },
        ...(timed && { timeout: { milliseconds: timeoutMs }, onTimeout }),
        ...(timed && onTimeout === 'escalate' && { escalateTo: ['user:dee'] }),
        ...(move.remind && { remindAfter: { hours: 1 } }),
        ...(rechecks && {
          recheck: () => {
            asked.set(place, (asked.get(place) ?? 0) + 1);
            return { price: price() };
          },
        }),
      });
      return status;
    } catch (error) {
      if (isWaitstateError(error, 'APPROVAL_EXPIRED') && onTimeout === 'fail') return 'FAILED';
      throw error;
    }
  }

  async #branches(ctx: Context, { branches, enough, concurrency }: Extract<Move, { do: 'all' }>): Promise<unknown> {
    const runs = branches.map((branch) => (inner: Context) => this.all(inner, branch));
    const limits = concurrency === undefined ? {} : { concurrency };
    if (enough === undefined) return ctx.all('both', runs, limits);
    const outcomes = await ctx.all('both', runs, { ...limits, enough });
    const counted = outcomes.filter(({ status }) => status === 'fulfilled').length;
    if (counted < enough) this.#world.wrong(`run ${ctx.run}: ${counted} branches were said to be ${enough}`);
    return { enough: outcomes.map(({ status }) => status) };
  }
}

interface Work {
  readonly ms: number;
  readonly of: string;
  readonly once?: boolean;
  readonly fails?: number;
  readonly broken?: boolean;
}

// Shortly before its end a function lets go of what it runs.
const LET_GO_MS = 1_500;

const PATIENT = { attempts: 50, pause: { seconds: 1 } };

const CACHES = {
  none: false,
  run: true,
  short: { minutes: 1 },
  shared: { hours: 1, shared: true },
} as const;

const isTurn = (ctx: Context): boolean => ctx.agent === 'turns';

/** The agent of a child. */
const childAgent = (at: string): string => (at.length % 2 === 0 ? 'turns' : 'programs');
