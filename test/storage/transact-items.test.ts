import { Readable } from 'node:stream';
import { DynamoDBClient, type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, NumberValue, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { toTransactItem } from '../../lambda/storage/dynamodb/transact/to-transact-item.ts';
import type { RawTransactItem, TransactItem } from '../../lambda/storage/dynamodb/transact/transact-items.ts';

const put = (Item: object) => ({ Put: { TableName: 'seats', Item } });
const marshal = (item: unknown) => toTransactItem(item, 'transact[0]', false);
const checkRaw = (item: unknown) => toTransactItem(item, 'transactRaw[0]', true);

/** Nests a value in this many maps. */
const nested = (levels: number, value: unknown = 'x'): unknown =>
  levels === 0 ? value : { a: nested(levels - 1, value) };

function catchError(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

class Money {
  readonly cents = 1;
}

const circular: Record<string, unknown> = {};
circular.around = [circular];

describe('a plain value that DynamoDB cannot store', () => {
  it.each<[what: string, value: unknown, path: string, found: string, advice: string]>([
    ['a function', () => 1, '', 'a function', 'Store data instead.'],
    ['a function in a list', [1, () => 1], '[1]', 'a function', 'Store data instead.'],
    ['a symbol', Symbol('x'), '', 'a symbol', 'Store data instead.'],
    ['a name that is a symbol', { [Symbol('x')]: 1 }, '', 'an object with the name Symbol(x)', 'Use strings as names.'],
    ['a Map with a number as a name', new Map([[1, 2]]), '', 'an object with the name 1', 'Use strings as names.'],
    ['undefined in a list', [1, undefined], '[1]', 'undefined', 'Use null, or leave it out.'],
    ['a hole in a list', new Array(1), '[0]', 'undefined', 'Use null, or leave it out.'],
    ['NaN', { price: Number.NaN }, '.price', 'NaN', 'Use a finite number or null.'],
    ['Infinity', [Infinity], '[0]', 'Infinity', 'Use a finite number or null.'],
    ['an integer that is not exact', 2 ** 53, '', '9007199254740992, beyond the integers', 'Use a BigInt.'],
    ['a large number', -1e300, '', '-1e+300, beyond the integers', 'Use a BigInt.'],
    ['a BigInt of 39 digits', 10n ** 38n + 1n, '', 'a number of 39 digits', 'Use at most 38, or a string.'],
    ['a BigInt of 127 digits', 10n ** 126n, '', `1${'0'.repeat(126)}`, 'Use 0 or a magnitude from 1e-130'],
    ['a number too close to zero', 1e-131, '', '1e-131', 'Use 0 or a magnitude from 1e-130'],
    ['a NumberValue that is not a number', NumberValue.from('ten'), '', 'ten', 'Use a finite number or null.'],
    ['a Date', { at: new Date(0) }, '.at', 'a Date', 'Use `date.toISOString()` or `date.getTime()`.'],
    ['a Promise', Promise.resolve(1), '', 'a Promise', "Await it in the step's function."],
    ['an instance of a class', { paid: new Money() }, '.paid', 'a Money', 'Use a plain object'],
    ['an Error', new TypeError('x'), '', 'a TypeError', 'Use a plain object'],
    ['a boxed number', Object(1), '', 'a Number', 'Use a plain object'],
    ['an ArrayBuffer', new ArrayBuffer(1), '', 'an ArrayBuffer', 'Use a Uint8Array.'],
    ['another typed array', new Float64Array(1), '', 'a Float64Array', 'Use a Uint8Array.'],
    ['a Blob', new Blob(['x']), '', 'a Blob', 'Use a Uint8Array.'],
    ['an empty set', new Set(), '', 'an empty set', 'Leave it out, or use a list.'],
    ['a set of two types', new Set([1, 'x']), '', 'a set of other values than', 'Use a list.'],
    ['a set of booleans', new Set([true]), '', 'a set of other values than', 'Use a list.'],
    ['a set with NaN', new Set([1, Number.NaN]), '.value(1)', 'NaN', 'Use a finite number or null.'],
    ['a set with undefined', new Set(['x', undefined]), '.value(1)', 'undefined', 'Use null, or leave it out.'],
    [
      'an unpaired surrogate',
      { 'odd name': ['\ud800'] },
      '["odd name"][0]',
      'text with half a surrogate',
      'Call `toWell',
    ],
    ['an object that contains itself', circular, '.around[0]', 'a reference to an object around it', 'Remove it.'],
    [
      'an object of 32 levels',
      nested(32),
      '.a'.repeat(31),
      'nested deeper than 31 levels',
      'Flatten it, or store it as JSON',
    ],
  ])('is rejected with its path if it is %s', (_, value, path, found, advice) => {
    /** Expects the refusal of the value at this path. */
    const expectRefusal = (item: object, at: string): void => {
      const error = Object(catchError(() => marshal(item)));
      expect(error.code).toBe('UNSUPPORTED_VALUE');
      expect(error.message.startsWith(`\`${at}${path}\` is ${found}`), error.message).toBe(true);
      expect(error.message).toContain(`, which DynamoDB cannot store. ${advice}`);
    };
    expectRefusal(put({ seat: value }), 'transact[0].Put.Item.seat');
    const update = { TableName: 't', Key: { seat: 'a' }, UpdateExpression: 'SET x = :x' };
    expectRefusal(
      { Update: { ...update, ExpressionAttributeValues: { ':x': value } } },
      'transact[0].Update.ExpressionAttributeValues[":x"]',
    );
    expectRefusal({ Delete: { TableName: 't', Key: { seat: value } } }, 'transact[0].Delete.Key.seat');
  });

  it('includes undefined in a key or in the expression values; other undefined members are left out', () => {
    const at = { TableName: 'seats', Key: { seat: undefined } };
    expect(() => marshal({ Delete: at })).toThrow('`transact[0].Delete.Key.seat` is undefined');
    expect(() => marshal({ Put: { ...put({}).Put, ExpressionAttributeValues: { ':by': undefined } } })).toThrow(
      '`transact[0].Put.ExpressionAttributeValues[":by"]` is undefined',
    );
    expect(marshal(put({ seat: 'a', by: undefined, more: { by: undefined } }))).toEqual(
      put({ seat: { S: 'a' }, more: { M: {} } }),
    );
  });
});

describe('a malformed write', () => {
  const expression = { TableName: 't', Key: {}, ConditionExpression: 'x' };
  it.each<[what: string, item: unknown, message: string]>([
    [
      'undefined',
      undefined,
      '`transact[0]` must have exactly one of Put, Update, Delete, ConditionCheck; found undefined.',
    ],
    [
      'an empty object',
      {},
      '`transact[0]` must have exactly one of Put, Update, Delete, ConditionCheck; found an Object.',
    ],
    ['two writes in one item', { ...put({}), Delete: {} }, '; found Put, Delete.'],
    ['an unknown write', { Get: {} }, '; found Get.'],
    ['an inherited property as a write', { toString: {} }, '; found toString.'],
    ['a write that is not an object', { Put: 'x' }, '`transact[0].Put` must be an object; found "x".'],
    [
      'a write without a table',
      { Put: { Item: {} } },
      '`transact[0].Put.TableName` must be a string that is not empty; found undefined.',
    ],
    [
      'a put without an item',
      { Put: { TableName: 't' } },
      '`transact[0].Put.Item` must be an object; found undefined.',
    ],
    [
      'a key that is a list',
      { Delete: { TableName: 't', Key: [] } },
      '`transact[0].Delete.Key` must be an object; found an Array.',
    ],
    [
      'an update without an expression',
      { Update: { TableName: 't', Key: {} } },
      '`transact[0].Update.UpdateExpression` must be a string',
    ],
    [
      'a condition check without a condition',
      { ConditionCheck: { TableName: 't', Key: {} } },
      '`transact[0].ConditionCheck.ConditionExpression` must',
    ],
    [
      'a condition with a typo',
      { Put: { ...put({}).Put, ConditionExpresion: 'x' } },
      '`transact[0].Put` must have only TableName, Item, ConditionExpression, ExpressionAttributeNames, ' +
        'ExpressionAttributeValues; found ConditionExpresion.',
    ],
    [
      'an attribute name that is not a string',
      { ConditionCheck: { ...expression, ExpressionAttributeNames: { '#a': 1 } } },
      '`transact[0].ConditionCheck.ExpressionAttributeNames["#a"]` must be a string; found 1.',
    ],
  ])('is rejected if it is %s', (_, item, message) => {
    expect(() => marshal(item)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringContaining(message) }),
    );
  });

  it('is rejected if a required member is undefined', () => {
    expect(marshal({ Put: { ...put({}).Put, ConditionExpression: undefined }, Delete: undefined })).toEqual(put({}));
    expect(() => marshal({ ConditionCheck: { ...expression, ConditionExpression: undefined } })).toThrow(
      'found undefined',
    );
  });
});

describe('a raw value', () => {
  it.each<[what: string, value: unknown, path: string, found: string]>([
    ['a plain text', 'x', '', '"x". Use `transact` for plain values.'],
    ['null', null, '', 'null. Use `transact` for plain values.'],
    ['an object of a class', new Money(), '', 'a Money. Use `transact` for plain values.'],
    ['an object without a type', {}, '', '{  }.'],
    ['an unknown type', { T: 'x' }, '', '{ T: "x" }.'],
    ['two types', { S: 'x', N: '1' }, '', '{ S: "x", N: "1" }.'],
    ['a number as text', { S: 1 }, '', '{ S: 1 }.'],
    ['a number as a number', { N: 1 }, '', '{ N: 1 }.'],
    ['text as bytes', { B: 'x' }, '', '{ B: "x" }.'],
    ['NULL that is false', { NULL: false }, '', '{ NULL: false }.'],
    ['a set that is not a list', { SS: 'x' }, '', '{ SS: "x" }.'],
    ['a set of numbers', { NS: [1] }, '', '{ NS: an Array }.'],
    ['a list with a plain value', { L: [{ S: 'x' }, 'x'] }, '.L[1]', '"x". Use `transact`'],
    ['a map with a plain value', { M: { a: { BOOL: 'x' } } }, '.M.a', '{ BOOL: "x" }.'],
  ])('is rejected with its path if it is %s', (_, value, path, found) => {
    expect(() => checkRaw(put({ seat: value }))).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message: expect.stringContaining(
          `\`transactRaw[0].Put.Item.seat${path}\` must be an attribute value, such as { S: 'x' }; found ${found}`,
        ),
      }),
    );
  });

  it('is sent unchanged', () => {
    const Item = {
      ...{ s: { S: '' }, n: { N: '1' }, b: { B: Buffer.from('x') }, bool: { BOOL: false }, nil: { NULL: true } },
      ...{ ss: { SS: ['x'] }, ns: { NS: ['1'] }, bs: { BS: [new Uint8Array()] }, l: { L: [{ M: { a: { N: '1' } } }] } },
    };
    const write = {
      Put: { TableName: 't', Item, ConditionExpression: 'x = :x', ExpressionAttributeValues: { ':x': Item.s } },
    };
    expect(checkRaw(write)).toEqual(write);
  });

  it('is rejected when it contains itself', () => {
    const list: unknown[] = [];
    list.push({ L: list });
    expect(() => checkRaw(put({ seat: { L: list } }))).toThrow('`transactRaw[0].Put.Item.seat.L[0]` is a reference');
  });
});

describe('plain items', () => {
  let sent = '';
  const client = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    requestHandler: {
      async handle({ body }: { body: Uint8Array }) {
        sent = new TextDecoder().decode(body);
        return { response: { statusCode: 200, headers: {}, body: Readable.from(['{}']) } };
      },
    },
  });

  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });

  /** The request that lib-dynamodb sends for these items. */
  async function sentByLibrary(TransactItems: readonly TransactItem[]): Promise<unknown> {
    await documents.send(new TransactWriteCommand({ TransactItems: TransactItems as never, ClientRequestToken: 'x' }));
    return JSON.parse(sent);
  }

  /** The request that is sent for the converted items. */
  async function sentByUs(items: readonly TransactItem[]): Promise<unknown> {
    const TransactItems = items.map(marshal);
    await client.send(new TransactWriteItemsCommand({ TransactItems, ClientRequestToken: 'x' }));
    return JSON.parse(sent);
  }

  const scalar = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.boolean(),
    fc.constant(null),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ min: -1e15, max: 1e15, noNaN: true }).filter((each) => each === 0 || Math.abs(each) > 1e-100),
    fc.bigInt({ min: -(10n ** 37n), max: 10n ** 37n }),
    fc.bigInt({ min: 1n, max: 10n ** 30n }).map((each) => NumberValue.from(`${each}.5`)),
    fc.uint8Array(),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    fc.uniqueArray(fc.string(), { minLength: 1 }).map((each) => new Set(each)),
    fc.uniqueArray(fc.integer(), { minLength: 1 }).map((each) => new Set(each)),
  );
  // The library drops a member named __proto__, and refuses an object with one named constructor.
  const name = fc.string().filter((each) => each !== '__proto__' && each !== 'constructor');
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      scalar,
      fc.array(tie('value')),
      fc.dictionary(name, fc.option(tie('value'), { nil: undefined, freq: 9 })),
      fc.dictionary(name, tie('value')).map((each) => new Map(Object.entries(each))),
    ),
  }));

  it('are sent exactly as lib-dynamodb sends them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 5, maxLength: 10 }), async (values) => {
        const Key = { key: values };
        const expression = { ExpressionAttributeValues: { ':x': values }, ConditionExpression: 'a = :x' };
        const items = [
          { Put: { TableName: 'a', Item: { key: 'k', ...values } } },
          { Update: { TableName: 'b', Key, UpdateExpression: 'SET a = :x', ...expression } },
          { Delete: { TableName: 'c', Key, ...expression, ExpressionAttributeNames: { '#a': 'a' } } },
          { ConditionCheck: { TableName: 'd', Key, ...expression } },
        ] as readonly TransactItem[];
        expect(await sentByUs(items)).toEqual(await sentByLibrary(items));
      }),
      { numRuns: 25 },
    );
  });

  it('keep members that lib-dynamodb loses', () => {
    const odd = JSON.parse('{"__proto__": 1, "constructor": "Ferrari"}');
    const { Put } = marshal(put(odd)) as unknown as { Put: { Item: object } };
    expect(Object.entries(Put.Item)).toEqual([
      ['__proto__', { N: '1' }],
      ['constructor', { S: 'Ferrari' }],
    ]);
  });
});

describe('the types', () => {
  interface Order {
    readonly id: string;
    readonly note?: string;
  }
  const order: Order = { id: 'o-1' };
  const at = { TableName: 't', Key: { id: 1 } };

  it('accept plain values, also of an interface, and optional members', () => {
    expectTypeOf({
      Put: { TableName: 't', Item: { ...order, order, lines: [order], tags: new Set(['x']) } },
    }).toExtend<TransactItem>();
    expectTypeOf({
      Put: { TableName: 't', Item: { n: 1n, b: Buffer.from(''), none: null, is: true } },
    }).toExtend<TransactItem>();
    expectTypeOf({ Delete: at }).toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { n: NumberValue.from('1') } } }).toExtend<TransactItem>();
  });

  it('reject functions, symbols, dates, promises, and undefined where it has no meaning', () => {
    expectTypeOf({ Put: { TableName: 't', Item: { f: () => 1 } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { s: Symbol('x') } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { at: new Date() } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { list: [new Date()] } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { later: Promise.resolve(1) } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { list: [undefined] } } }).not.toExtend<TransactItem>();
    expectTypeOf({ Delete: { TableName: 't', Key: { id: undefined } } }).not.toExtend<TransactItem>();
  });

  it('reject malformed writes', () => {
    expectTypeOf({ Put: { TableName: 't', Item: {} }, Delete: at }).not.toExtend<TransactItem>();
    expectTypeOf({ Put: { Item: {} } }).not.toExtend<TransactItem>();
    expectTypeOf({ Update: at }).not.toExtend<TransactItem>();
    expectTypeOf({ ConditionCheck: at }).not.toExtend<TransactItem>();
    expectTypeOf({}).not.toExtend<TransactItem>();
  });

  it('take attribute values, also those of the SDK, in raw items only', () => {
    type Attributes = NonNullable<NonNullable<TransactWriteItem['Put']>['Item']>;
    expectTypeOf<{ Put: { TableName: string; Item: Attributes } }>().toExtend<RawTransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { id: { S: 'x' } } } }).toExtend<RawTransactItem>();
    expectTypeOf({ Put: { TableName: 't', Item: { id: 'x' } } }).not.toExtend<RawTransactItem>();
  });
});
