import { kmsKeys } from '../checkpoints/encryption/kms-keys.ts';
import { ANY_TYPE, type ContextFactory, contextFactory } from '../checkpoints/engine.ts';
import type { HandlerName } from '../environment/names.ts';
import { dynamoStorage } from '../storage/dynamodb/dynamo-storage.ts';
import { type Environment, type HandlerEnvironment, readEnvironment } from './read-environment.ts';

/**
 * A handler that reads its environment and is created at the first invocation, so that a bad variable fails that one.
 */
export function lazyHandler<Handler extends HandlerName, Event, Context, Response>(
  name: Handler,
  create: (environment: HandlerEnvironment<Handler>) => (event: Event, context: Context) => Promise<Response>,
): (event: Event, context: Context) => Promise<Response> {
  let handler: ReturnType<typeof create> | undefined;
  return async (event, context) => {
    handler ??= create(readEnvironment(name));
    return handler(event, context);
  };
}

/** The variables that describe the storage, its encryption and the retention of new runs. */
type StorageEnvironment = Pick<Environment, 'table' | 'bucket' | 'key' | 'acceptUnencrypted'> &
  Partial<Pick<Environment, 'retentionSeconds'>>;

/** The context factory on the storage of the environment. */
export const contextFactoryFrom = ({
  table,
  bucket,
  key,
  acceptUnencrypted,
  retentionSeconds,
}: StorageEnvironment): ContextFactory =>
  contextFactory(dynamoStorage({ table, bucket }), {
    // Handlers do not know the classes of agents, so their instances pass through unchanged.
    types: ANY_TYPE,
    writer: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'waitstate',
    ...(retentionSeconds !== undefined && { retention: { seconds: retentionSeconds } }),
    ...(key !== undefined && { keys: kmsKeys({ keyId: key }), acceptUnencrypted }),
  });
