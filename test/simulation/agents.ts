import { type Agent, agent } from '../../lambda/runtime/agent/agent.ts';
import type { StepContext, TurnContext } from '../../lambda/runtime/definition/agent-context.ts';
import type { AgentDefinition } from '../../lambda/runtime/definition/agent-definition.ts';
import type { Deliveries } from './deliveries.ts';
import { Player, type State } from './playing.ts';
import type { Process } from './process.ts';
import type { Program } from './program.ts';
import { storageFor } from './storage.ts';
import type { World } from './world.ts';

type SimulatedAgent = Agent<Program, State, unknown>;
export type Agents = (name: string) => SimulatedAgent;

/** Creates the agents of one process, each on first use. */
export function agentsIn(world: World, process: Process, deliveries: Deliveries): Agents {
  const player = new Player(world, process);
  const options = {
    storage: storageFor(world, process),
    clock: process.clock,
    random: world.chance.next,
    writer: process.name,
    approvalUrl: 'https://approvals.test/',
    log: (level: string, message: string) => world.note(process, `logs ${level}: ${message}`),
    probe: (moment: string, run: string, step: string) => {
      if (process.dead) return 'crash' as const;
      if (!world.faults.inStep()) return undefined;
      world.note(process, `crashes ${moment} ${step} of ${run}`);
      process.die();
      return 'crash' as const;
    },
    ...(!world.streams && { deliver: deliveries.from(process) }),
  };
  const created = new Map<string, SimulatedAgent>();
  return (name) => {
    const known = created.get(name) ?? agent(createDefinition(name, world, player) as never, options);
    created.set(name, known as SimulatedAgent);
    return known as SimulatedAgent;
  };
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
