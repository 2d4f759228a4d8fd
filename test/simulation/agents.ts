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

/** The agents as one process has them. */
export function agentsIn(world: World, process: Process, deliveries: Deliveries): Agents {
  const player = new Player(world, process);
  const place = {
    storage: storageFor(world, process),
    clock: process.clock,
    chance: world.chance.next,
    writer: process.name,
    approvalUrl: 'https://approvals.test/',
    log: (level: string, message: string) => world.note(process, `logs ${level}: ${message}`),
    probe: (moment: string, run: string, step: string) => {
      if (process.dead) return 'crash' as const;
      if (!world.faults.inStep()) return undefined;
      world.note(process, `dies ${moment} ${step} of ${run}`);
      process.die();
      return 'crash' as const;
    },
    ...(!world.streams && { deliver: deliveries.from(process) }),
  };
  const made = new Map<string, SimulatedAgent>();
  return (name) => {
    const known = made.get(name) ?? agent(definitionOf(name, world, player) as never, place);
    made.set(name, known as SimulatedAgent);
    return known as SimulatedAgent;
  };
}

const initial = (): State => ({ log: [], next: 0, out: [] });

/** An agent that plays its program at once, and one that plays a move each turn. */
function definitionOf(name: string, world: World, player: Player): AgentDefinition<Program, State, unknown> {
  const base = { name, maxAttempts: world.maxAttempts, state: { version: 1, initial } };
  if (name !== 'turns') return { ...base, run: (ctx, program) => player.all(ctx, program) };
  return {
    ...base,
    undo: { book: (made: never, tools: StepContext) => player.undo(made, tools) },
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
