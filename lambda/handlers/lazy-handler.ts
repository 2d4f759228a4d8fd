import { kmsKeys } from '../checkpoints/encryption/kms-keys.ts';
import { ANY_TYPE, type ContextFactory, contextFactory } from '../checkpoints/engine.ts';
import type { HandlerName } from '../environment/names.ts';
import { dynamoStorage } from '../storage/dynamodb/dynamo-storage.ts';
import { type Environment, type HandlerEnvironment, readEnvironment } from './read-environment.ts';

/** A handler that is made of its environment by its first call, and then stays. */
export function lazyHandler<Handler extends HandlerName, Event, Context, Answer>(
  handler: Handler,
  make: (environment: HandlerEnvironment<Handler>) => (event: Event, context: Context) => Promise<Answer>,
): (event: Event, context: Context) => Promise<Answer> {
  let made: ReturnType<typeof make> | undefined;
  return async (event, context) => {
    made ??= make(readEnvironment(handler));
    return made(event, context);
  };
}

/** Where a handler finds runs, and how long those that it begins are kept. */
type Stored = Pick<Environment, 'table' | 'bucket' | 'key' | 'acceptUnencrypted'> &
  Partial<Pick<Environment, 'retentionSeconds'>>;

/** The contexts of what handlers do, on the storage that the environment names. */
export const contextFactoryFrom = ({
  table,
  bucket,
  key,
  acceptUnencrypted,
  retentionSeconds,
}: Stored): ContextFactory =>
  contextFactory(dynamoStorage({ table, bucket }), {
    // What agents keep of their own classes passes through as it is.
    types: ANY_TYPE,
    writer: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'waitstate',
    ...(retentionSeconds !== undefined && { retentionSeconds }),
    ...(key !== undefined && { keys: kmsKeys({ keyId: key }), acceptUnencrypted }),
  });
