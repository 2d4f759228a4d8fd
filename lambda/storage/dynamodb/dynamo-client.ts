import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** The part of a DynamoDB client that the adapter uses. */
export type DynamoClient = Pick<DynamoDBClient, 'send' | 'config'>;
