import { isStorageError, isWaitstateError, WaitstateError } from '../../core/errors.ts';
import { toTransactItem } from '../../storage/dynamodb/transact/to-transact-item.ts';
import { ConditionFailedError, type RecordStore } from '../../storage/ports.ts';
import type { StepOptions } from '../definition/agent-context.ts';
import { agentMisuse } from '../definition/agent-errors.ts';
import type { BatchItem } from '../invocation/batch.ts';

// DynamoDB allows 100 items in a transaction; the rest is for the writes of the checkpoint.
const MAX_TRANSACT_WRITES = 90;

/**
 * The agent's writes in the transaction that records a step: those of `transact`, then those of `transactRaw`. The
 * step's function has run, so every error is permanent and has the result of the function, for the agent to handle it.
 */
export function transactWrites<T>(
  id: string,
  { transact, transactRaw }: StepOptions<T>,
  result: T,
  records: RecordStore,
): Pick<BatchItem, 'sideWrites' | 'writeError'> {
  const plain = transact?.(result) ?? [];
  const raw = transactRaw?.(result) ?? [];
  const failed = (cause: WaitstateError, message = cause.message): WaitstateError => {
    const text = `Step "${id}" failed, and nothing was written: ${message}`;
    return Object.assign(new WaitstateError(cause.code, text, { scope: 'step', cause }), { result });
  };
  try {
    checkLists({ transact: plain, transactRaw: raw });
    const paths = [...plain.map((_, i) => `transact[${i}]`), ...raw.map((_, i) => `transactRaw[${i}]`)];
    const writes = [...plain, ...raw].map((item, i) => ({
      foreign: toTransactItem(item, paths[i] ?? '', i >= plain.length),
      when: 'foreign' as const,
    }));
    for (const [i, { foreign }] of writes.entries()) checkTable(foreign, paths[i] ?? '', records);
    const conditionsOf = ({ found }: ConditionFailedError) => [...found.keys()].map((i) => paths[i]).join(', ');
    const tables = new Set(writes.flatMap(({ foreign }) => Object.values(foreign).map(({ TableName }) => TableName)));
    return {
      sideWrites: async () => writes,
      writeError(error) {
        if (error instanceof ConditionFailedError)
          return failed(error, `the condition of ${conditionsOf(error)} did not hold.`);
        if (!isStorageError(error)) return failed(error);
        const text = `${error.message} The same transaction writes to ${[...tables].join(', ')}, by \`transact\` of step "${id}": check these tables too.`;
        return new WaitstateError(error.code, text, { cause: error });
      },
    };
  } catch (error) {
    throw isWaitstateError(error) ? failed(error) : error;
  }
}

/** Refuses a write to the table of the store: it could damage the runs that are stored there. */
function checkTable(
  item: Readonly<Record<string, { readonly TableName: string }>>,
  path: string,
  records: RecordStore,
): void {
  for (const [kind, { TableName }] of Object.entries(item))
    if (records.table !== undefined && tableName(TableName) === tableName(records.table))
      throw new WaitstateError(
        'INVALID_INPUT',
        `\`${path}.${kind}.TableName\` must be a table of your own; found "${TableName}", in which Waitstate stores its runs. Create a table for your data, and grant the agent access to it.`,
        { scope: 'step' },
      );
}

/** The name of a table that is given by its name or its ARN. One transaction has tables of one account only. */
const tableName = (nameOrArn: string): string => /^arn:[^/]*:table\/([^/]+)/.exec(nameOrArn)?.[1] ?? nameOrArn;

function checkLists(lists: Readonly<Record<string, unknown>>): void {
  let count = 0;
  for (const [option, items] of Object.entries(lists)) {
    if (!Array.isArray(items))
      throw agentMisuse(
        `\`${option}\` must return an array; found ${items instanceof Promise ? "a promise. Await in the step's function" : typeof items}.`,
      );
    count += items.length;
  }
  if (count > MAX_TRANSACT_WRITES)
    throw agentMisuse(
      `\`transact\` and \`transactRaw\` must return at most ${MAX_TRANSACT_WRITES} items in total; found ${count}.`,
    );
}
