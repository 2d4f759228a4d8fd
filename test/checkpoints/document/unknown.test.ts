import { describe, expect, it } from 'vitest';
import { decode } from '../../../lambda/checkpoints/document/decode.ts';
import type { Doc } from '../../../lambda/checkpoints/document/document.ts';
import { encode } from '../../../lambda/checkpoints/document/encode.ts';
import { ANY_TYPE, UnknownInstance } from '../../../lambda/checkpoints/document/unknown-instance.ts';

describe('an instance of a class that this code does not know', () => {
  const doc: Doc = { spent: { $: ['class', 'money', { cents: 5, at: { $: ['date', 0] } }] } };

  it('is rejected by default', () => {
    expect(() => decode(doc)).toThrow('an instance of money. Register the class in `types`');
    expect(() => decode(doc, { types: {} })).toThrow('Register the class in `types` under this name');
  });

  it('is kept with `ANY_TYPE`, and saved again unchanged', () => {
    const value = decode(doc, { types: ANY_TYPE }) as { spent: UnknownInstance };
    expect(value.spent).toBeInstanceOf(UnknownInstance);
    expect(value.spent).toMatchObject({ type: 'money', data: { cents: 5, at: new Date(0) } });
    expect(encode(value, { root: 'state', types: ANY_TYPE })).toEqual(doc);
    expect(encode(value, { root: 'state', base: doc, types: ANY_TYPE })).toBe(doc);
  });

  it('is an instance of its class when that is registered too', () => {
    const money = {
      is: (value: unknown): value is Date => value instanceof Date,
      encode: (value: Date) => ({ cents: value.getTime() }),
      decode: ({ cents }: { cents: number }) => new Date(cents),
    };
    expect(decode(doc, { types: { ...ANY_TYPE, money } })).toEqual({ spent: new Date(5) });
  });
});
