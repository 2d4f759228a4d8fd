export { ClientError } from './client/client-error.ts';
export {
  type ApprovalInfo,
  type Client,
  type ClientDecision,
  type ClientOptions,
  createClient,
  type RunInfo,
  type StartOptions,
} from './client/create-client.ts';
export type { FollowOptions } from './client/follow-run.ts';
export { type CheckpointInfo, type LiveOutput, type RunEvent, updateOutput } from './client/run-event.ts';
