import { HttpMethod } from 'aws-cdk-lib/aws-apigatewayv2';
import type { Role } from '../lambda/http/caller.ts';

/** A permission on the API: the routes that IAM allows, and the roles that the application gives the caller. */
export interface ApiPermission {
  readonly routes: readonly (readonly [HttpMethod, string])[];
  readonly roles: readonly Role[];
  readonly decidesForOthers?: boolean;
  readonly startsForOthers?: boolean;
}

const { ANY, GET, POST } = HttpMethod;

/** Only starts runs. */
export const START: ApiPermission = { routes: [[POST, '/api/runs']], roles: ['starter'] };

/**
 * Shows approvals to people, with their payloads, and decides on their behalf. Each path is a route of its own, because
 * IAM may compare a policy with the route instead of the requested path (decision 020).
 */
export const APPROVE: ApiPermission = {
  routes: [
    [GET, '/api/me'],
    [GET, '/api/approvals'],
    [POST, '/api/approvals/decide'],
    [GET, '/api/runs/{run}/approvals/{approval}'],
    [GET, '/api/runs/{run}/approvals/{approval}/payloads/{payload}'],
    [POST, '/api/runs/{run}/approvals/{approval}/decide'],
    [GET, '/api/delegations'],
    [POST, '/api/delegations'],
    [POST, '/api/delegations/{person}/end'],
  ],
  roles: ['approver'],
  decidesForOthers: true,
};

/** Claims runs and executes them. */
export const WORK: ApiPermission = {
  routes: [
    [POST, '/api/claims'],
    [POST, '/api/runs/{run}/lease'],
    [POST, '/api/runs/{run}/release'],
    [GET, '/api/runs/{run}/load'],
    [POST, '/api/runs/{run}/checkpoints'],
    [POST, '/api/runs/{run}/approvals'],
    [POST, '/api/runs/{run}/waits'],
    [POST, '/api/runs/{run}/finish'],
    [POST, '/api/runs/{run}/uploads'],
  ],
  roles: ['worker'],
};

/** Reads runs and approvals. */
export const READ: ApiPermission = {
  routes: [
    [GET, '/api/*'],
    [GET, '/console'],
    [GET, '/console/*'],
  ],
  roles: ['viewer'],
};

/** Every action of an operator. */
export const OPERATE: ApiPermission = {
  routes: [
    [ANY, '/api/*'],
    [ANY, '/console'],
    [ANY, '/console/*'],
  ],
  roles: ['operator', 'viewer'],
};
