import type { AccessRequest } from '../policy.ts';
import { type Engine, forward } from './forward.ts';
import { type Call, inputOf, jsonError, operationOf, type Service, viaService } from './service.ts';

/** A table as IAM sees it. */
export interface TableFacts {
  readonly arn: string;
  /** The attribute that partitions the table, and those of its indexes. */
  readonly partitionKey: string;
  readonly indexKeys: Readonly<Record<string, string>>;
  /** The key of KMS that encrypts it; undefined for one of AWS. */
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

/** DynamoDB on an engine. https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html */
export function dynamodb(engine: Engine, tables: ReadonlyMap<string, TableFacts>, region: string): Service {
  const factsOf = (name: string): TableFacts => {
    const facts = tables.get(name);
    if (!facts) throw new Error(`No table of the template is called ${name}.`);
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

  function queried(query: Query): AccessRequest {
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
    Query: (call) => [queried(inputOf(call))],
    BatchGetItem: (call) =>
      Object.entries(inputOf<{ RequestItems: Record<string, { Keys: Item[] }> }>(call).RequestItems).map(
        ([table, { Keys }]) =>
          on(
            table,
            'BatchGetItem',
            Keys.map((key) => key[factsOf(table).partitionKey]?.S),
          ),
      ),
    // A transaction needs the actions of its parts, and none of its own.
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
      if (!wants) throw new Error(`What does ${operationOf(call)} of DynamoDB need? Say it in services/dynamodb.ts.`);
      const keys = [...tables.values()].flatMap(({ arn, kmsKey }) =>
        kmsKey !== undefined && wants.some(({ resource }) => resource.startsWith(arn)) ? [kmsKey] : [],
      );
      return [...wants, ...keys.flatMap((key) => viaService(key, 'dynamodb', region, 'Decrypt'))];
    },
    answer: (call) => forward(engine, 'dynamodb', call),
    denied: (message) => jsonError('com.amazon.coral.service#AccessDeniedException', message),
  };
}
