import type { AccessRequest } from '../policy.ts';
import { type Engine, forward } from './forward.ts';
import { type Call, inputOf, jsonError, operationOf, type Service, viaService } from './service.ts';

/** The facts about a table that access checks need. */
export interface TableFacts {
  readonly arn: string;
  /** The partition key of the table. */
  readonly partitionKey: string;
  /** The partition keys of the indexes. */
  readonly indexKeys: Readonly<Record<string, string>>;
  /** The customer managed key that encrypts it. */
  readonly kmsKey: string | undefined;
}

type Item = Readonly<Record<string, { readonly S?: string }>>;

interface Query {
  readonly TableName: string;
  readonly IndexName?: string;
  readonly KeyConditionExpression: string;
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  readonly ExpressionAttributeValues: Item;
}

interface Part {
  readonly TableName: string;
  readonly Item?: Item;
  readonly Key?: Item;
}

/**
 * DynamoDB with access checks, on a local engine.
 * https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html
 */
export function dynamodb(engine: Engine, tables: ReadonlyMap<string, TableFacts>, region: string): Service {
  const factsOf = (name: string): TableFacts => {
    const facts = tables.get(name);
    if (!facts) throw new Error(`The template has no table ${name}.`);
    return facts;
  };
  const on = (name: string, action: string, keys: readonly (string | undefined)[], index?: string): AccessRequest => {
    const { arn } = factsOf(name);
    const known = keys.filter((key) => key !== undefined);
    return {
      action: `dynamodb:${action}`,
      resource: index === undefined ? arn : `${arn}/index/${index}`,
      ...(known.length > 0 && { context: { 'dynamodb:LeadingKeys': [...new Set(known)] } }),
    };
  };
  const one = (action: string, { TableName, Item: item, Key: key }: Part): AccessRequest =>
    on(TableName, action, [(item ?? key)?.[factsOf(TableName).partitionKey]?.S]);

  function queryAccess(query: Query): AccessRequest {
    const { TableName, IndexName, KeyConditionExpression: condition } = query;
    const { partitionKey, indexKeys } = factsOf(TableName);
    const wanted = IndexName === undefined ? partitionKey : indexKeys[IndexName];
    const keys = [...condition.matchAll(/(#?\w+)\s*=\s*(:\w+)/g)].flatMap(([, name = '', value = '']) =>
      (query.ExpressionAttributeNames?.[name] ?? name) === wanted ? [query.ExpressionAttributeValues[value]?.S] : [],
    );
    return on(TableName, 'Query', keys, IndexName);
  }

  const operations: Readonly<Record<string, (call: Call) => readonly AccessRequest[]>> = {
    GetItem: (call) => [one('GetItem', inputOf(call))],
    PutItem: (call) => [one('PutItem', inputOf(call))],
    DeleteItem: (call) => [one('DeleteItem', inputOf(call))],
    Query: (call) => [queryAccess(inputOf(call))],
    DescribeTable: (call) => [on(inputOf<Part>(call).TableName, 'DescribeTable', [])],
    DescribeTimeToLive: (call) => [on(inputOf<Part>(call).TableName, 'DescribeTimeToLive', [])],
    BatchGetItem: (call) =>
      Object.entries(inputOf<{ RequestItems: Record<string, { Keys: Item[] }> }>(call).RequestItems).map(
        ([table, { Keys }]) =>
          on(
            table,
            'BatchGetItem',
            Keys.map((key) => key[factsOf(table).partitionKey]?.S),
          ),
      ),
    // A transaction needs the permissions of its parts, and no other.
    TransactWriteItems: (call) =>
      inputOf<{ TransactItems: Record<string, Part>[] }>(call).TransactItems.flatMap((item) =>
        Object.entries(item).map(([kind, part]) =>
          one(kind === 'ConditionCheck' ? 'ConditionCheckItem' : `${kind}Item`, part),
        ),
      ),
  };

  return {
    wanted(call) {
      const wants = operations[operationOf(call)]?.(call);
      if (!wants) throw new Error(`DynamoDB ${operationOf(call)} is not implemented in services/dynamodb.ts.`);
      const keys = [...tables.values()].flatMap(({ arn, kmsKey }) =>
        kmsKey !== undefined && !isDescription(call) && wants.some(({ resource }) => resource.startsWith(arn))
          ? [kmsKey]
          : [],
      );
      return [...wants, ...keys.flatMap((key) => viaService(key, 'dynamodb', region, 'Decrypt'))];
    },
    respond: (call) => forward(engine, 'dynamodb', call),
    denied: (message) => jsonError('com.amazon.coral.service#AccessDeniedException', message),
  };
}

/** Whether a call reads the settings of a table, which are not encrypted. */
const isDescription = (call: Call): boolean => operationOf(call).startsWith('Describe');
