import { describe, expect, it } from 'vitest';
import {
  CHECKPOINT_FUNCTION_VARIABLE,
  ENVIRONMENT,
  HANDLERS,
  VARIABLES_BY_HANDLER,
} from '../../../../lambda/environment/names.ts';
import type { Account } from '../account.ts';
import { accounts } from '../scene.ts';

const ours = (names: readonly string[]): readonly string[] =>
  names.filter((name) => name.startsWith('WAITSTATE_')).sort();

/** After all stories: functions have exactly the variables that they read. */
export function environment(): void {
  describe('the environment of a function with every option', () => {
    const account = () => accounts().find(({ deployed }) => deployed.target.name.startsWith('everything')) as Account;
    const labelOf = (handler: string) =>
      account().functions.find((each) => each.handler === `${handler}.handler`)?.label;
    const readBy = (label: string | undefined) => [
      ...new Set(account().invocations.flatMap((each) => (each.label === label ? each.read : []))),
    ];

    it.each(HANDLERS)('has exactly the variables that the handler %s read', (handler) => {
      const { variables } = account().named(String(labelOf(handler)));
      const known = VARIABLES_BY_HANDLER[handler].map((name) => ENVIRONMENT[name]).sort();
      expect(ours(Object.keys(variables))).toEqual(known);
      expect(ours(readBy(labelOf(handler)))).toEqual(known);
      expect(Object.keys(variables).filter((name) => !name.startsWith('WAITSTATE_'))).toEqual(['NODE_OPTIONS']);
    });

    it('has exactly the variables of agents for an agent, and all were read', () => {
      const known = VARIABLES_BY_HANDLER.agent.map((name) => ENVIRONMENT[name]).sort();
      expect(ours(Object.keys(account().named('Agent-orders').variables))).toEqual(known);
      expect(readBy('Agent-orders')).toEqual(expect.arrayContaining(known));
    });

    it('has only the name of the checkpoint function for an agent in another language', () => {
      const { variables } = account().named('Quotes');
      expect(variables).toEqual({ [CHECKPOINT_FUNCTION_VARIABLE]: account().named('Checkpoint').name });
    });
  });
}
