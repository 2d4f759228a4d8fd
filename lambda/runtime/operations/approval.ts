import type { ApprovalOptions } from '../definition/agent-context.ts';
import type { Invocation } from '../invocation/invocation.ts';
import type { Scope } from '../journal/identity.ts';
import type { AnyQuestion } from './asked-approval.ts';

// The rest of the code is loaded by the first approval or question of a process.
type ApprovalOperation = typeof import('./approval-operation.ts');

/** Implements `ctx.approval`. */
export const approval = (
  invocation: Invocation,
  scope: Scope,
  name: string,
  options: ApprovalOptions<unknown>,
): Promise<unknown> =>
  askPeople(invocation, scope, 'ctx.approval', name, options, ({ askedApproval }) => askedApproval(Object(options)));

/** Implements `ctx.ask`. */
export const ask = (invocation: Invocation, scope: Scope, name: string, options: AnyQuestion): Promise<unknown> =>
  askPeople(invocation, scope, 'ctx.ask', name, options, ({ askedQuestion }) => askedQuestion(Object(options)));

async function askPeople(
  invocation: Invocation,
  scope: Scope,
  call: string,
  name: string,
  options: { readonly key?: string },
  toAsked: (operation: ApprovalOperation) => ReturnType<ApprovalOperation['askedApproval']>,
): Promise<unknown> {
  invocation.checkCall(call, scope);
  // Before the import, because a replay finds concurrent operations by the order of their calls.
  const identity = scope.enter(name, Object(options).key);
  return invocation.runOperation(identity, async () => {
    const operation = await invocation.runActive(() => import('./approval-operation.ts'));
    return operation.runApproval({ invocation, scope, id: identity.id, name, asked: toAsked(operation) });
  });
}
