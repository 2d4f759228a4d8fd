export type { IamCaller, JwtCallers } from '../lambda/api/authorizer-caller.ts';
export type { Role } from '../lambda/api/caller.ts';
export type { HandlerName } from '../lambda/handlers/environment.ts';
export type { AgentProps, EntryAgentProps, FunctionAgentProps } from './agents.ts';
export { cognitoIssuer } from './cognito-issuer.ts';
export { Holdpoint, type TenantOptions } from './holdpoint.ts';
export type { HoldpointProps, JwtProps } from './holdpoint-props.ts';
