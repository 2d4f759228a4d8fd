// What a portal does with approvals. It is one module so that bundlers make one chunk of it, which is loaded on first use:
// agents only request approvals.

export { decideByToken, findByToken } from './by-token.ts';
export { decide, remind, withdraw } from './decide.ts';
export { decideAll, renderDecided } from './decide-all.ts';
export { delegate, endDelegation, listDelegations, toDelegationView } from './delegations.ts';
export { deliverDecided } from './deliver-decided.ts';
export { inbox, skipUnreadable } from './inbox.ts';
export { revokeToken } from './tokens.ts';
export { toApprovalView, viewApproval } from './view.ts';
