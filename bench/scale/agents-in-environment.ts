import { ENVIRONMENT, READ_BY } from '../../lambda/environment/names.ts';

/** All variables of a function together, names and values. */
const MOST_BYTES = 4096;

// As long as CloudFormation makes names of functions, and as long as names of stacks and tables usually make values.
const FUNCTION_NAME = 'x'.repeat(64);
const VALUE_BYTES = 80;
/** What the construct and Lambda's tools set beside. */
const OTHERS = 'NODE_OPTIONS=--enable-source-maps';

/** How many agents fit into the environment of the handler that reads most beside them. */
export function agentsInEnvironment(nameBytes: number): number {
  const handlers = Object.values(READ_BY).filter((names) => names.includes('agents'));
  const taken = Math.max(
    ...handlers.map((names) =>
      names.reduce((all, name) => all + ENVIRONMENT[name].length + (name === 'agents' ? 0 : VALUE_BYTES), 0),
    ),
  );
  const agent = JSON.stringify({ ['a'.repeat(nameBytes)]: FUNCTION_NAME }).length - 1;
  return Math.floor((MOST_BYTES - OTHERS.length - taken - 2) / agent);
}
