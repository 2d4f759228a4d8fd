export type { HandlerName } from '../lambda/environment/names.ts';
export type { IamCaller, JwtCallers } from '../lambda/http/authorizer-caller.ts';
export type { Role as CallerRole } from '../lambda/http/caller.ts';
export type { AgentProps, FunctionAgentProps, WorkerAgentProps } from './agents.ts';
export { cognitoIssuer } from './cognito-issuer.ts';
export type { EntryAgentProps } from './entry-function.ts';
export type { VpcEndpointService, VpcEndpoints } from './vpc-endpoints.ts';
export {
  type CallerOptions,
  type StartCallerOptions,
  type TenantOptions,
  type VpcEndpointOptions,
  Waitstate,
} from './waitstate.ts';
export type { JwtProps, WaitstateProps } from './waitstate-props.ts';
