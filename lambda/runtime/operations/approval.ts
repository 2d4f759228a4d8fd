import type { ApprovalOptions, Decision } from '../definition/agent-context.ts';
import type { Invocation } from '../invocation/invocation.ts';
import type { Scope } from '../journal/identity.ts';

/** Implements `ctx.approval`. The rest of its code is loaded by the first approval of a process. */
export async function approval<Edits>(
  invocation: Invocation,
  scope: Scope,
  name: string,
  options: ApprovalOptions<Edits>,
): Promise<Decision<Edits>> {
  invocation.checkCall('ctx.approval', scope);
  // Before the import, because a replay finds concurrent operations by the order of their calls.
  const identity = scope.enter(name, Object(options).key);
  return invocation.runOperation(identity, async () => {
    const { runApproval } = await invocation.runActive(() => import('./approval-operation.ts'));
    return runApproval(invocation, scope, identity.id, name, options);
  });
}
