import { type Contexts, contextsOn } from '../checkpoints/contexts.ts';
import { ANY_TYPE } from '../checkpoints/document/unknown-instance.ts';
import { dynamoStorage } from '../dynamodb.ts';
import { kmsKeys } from '../kms.ts';
import { type Environment, readEnvironment } from './environment.ts';

/** A handler that is made of the environment by its first call, and then stays. */
export function wired<Event, Context, Answer>(
  make: (environment: Environment) => (event: Event, context: Context) => Promise<Answer>,
): (event: Event, context: Context) => Promise<Answer> {
  let made: ReturnType<typeof make> | undefined;
  return async (event, context) => {
    made ??= make(readEnvironment());
    return made(event, context);
  };
}

/** The contexts of what handlers do, on the storage that the environment names. */
export const contextsOf = ({ table, bucket, key }: Environment): Contexts =>
  contextsOn(dynamoStorage({ table, bucket }), {
    // What agents keep of their own classes passes through as it is.
    types: ANY_TYPE,
    writer: process.env.AWS_LAMBDA_FUNCTION_NAME ?? 'holdpoint',
    ...(key !== undefined && { keys: kmsKeys({ keyId: key }) }),
  });
