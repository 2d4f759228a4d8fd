import { type Agent, agent } from '../../lambda/runtime/agent/agent.ts';
import { type Approvals, approvals } from '../../lambda/runtime/agent/approvals-portal.ts';
import type { StepContext, TurnContext } from '../../lambda/runtime/definition/agent-context.ts';
import type { AgentDefinition } from '../../lambda/runtime/definition/agent-definition.ts';
import type { Deliveries } from './deliveries.ts';
import { APPROVAL_URL, hooksIn } from './hooks.ts';
import { Player, type State } from './playing.ts';
import type { Process } from './process.ts';
import type { Program } from './program.ts';
import { storageFor } from './storage.ts';
import type { World } from './world.ts';

type SimulatedAgent = Agent<Program, State, unknown>;
/** The agents of a process by name, and a portal for approvals. */
export type Agents = ((name: string) => SimulatedAgent) & { readonly portal: Approvals };

/** The names of all simulated agents. */
export const AGENTS = ['programs', 'turns'] as const;

/** Creates the agents of one process, each on first use. */
export function agentsIn(world: World, process: Process, deliveries: Deliveries): Agents {
  const player = new Player(world, process);
  const options = {
    storage: storageFor(world, process),
    clock: process.clock,
    random: world.chance.next,
    writer: process.name,
    approvalUrl: APPROVAL_URL,
    log: (level: string, message: string) => world.note(process, `logs ${level}: ${message}`),
    probe: (moment: string, run: string, step: string) => {
      if (process.dead) return 'crash' as const;
      if (!world.faults.inStep()) return undefined;
      world.note(process, `crashes ${moment} ${step} of ${run}`);
      process.die();
      return 'crash' as const;
    },
    ...(world.delivery === 'direct' && { deliver: deliveries.from(process) }),
  };
  const created = new Map<string, SimulatedAgent>();
  const find = (name: string): SimulatedAgent => {
    const definition = () => ({ ...createDefinition(name, world, player), ...hooksIn(world, process, name) });
    const known = created.get(name) ?? agent(definition() as never, options);
    created.set(name, known as SimulatedAgent);
    return known as SimulatedAgent;
  };
  return Object.assign(find, { portal: approvals(options) });
}

const initial = (): State => ({ log: [], next: 0, out: [] });

/** Defines an agent that plays its whole program in `run`, or one move in each turn. */
function createDefinition(name: string, world: World, player: Player): AgentDefinition<Program, State, unknown> {
  const base = { name, maxClaimsWithoutProgress: world.maxClaimsWithoutProgress, state: { version: 1, initial } };
  if (name !== 'turns') return { ...base, run: (ctx, program) => player.all(ctx, program) };
  return {
    ...base,
    undo: { book: (output: never, step: StepContext) => player.undo(output, step) },
    async turn(ctx: TurnContext<State>, state, program) {
      const move = program[state.next];
      if (!move) return ctx.done(state.out);
      const out = await player.move(ctx, move);
      await ctx.update((draft) => {
        draft.next += 1;
        (draft.out as unknown[]).push(out);
      });
    },
  };
}
