import { deepStrictEqual } from 'node:assert';
import { describe, expect, test } from 'vitest';
import type { SaveInput } from '../../../lambda/checkpoints/save.ts';
import { all, type OpenStores, SECOND } from './stores.ts';

export function fieldsContract(open: OpenStores): void {
  describe('the fields of a checkpoint', () => {
    test('are returned by a save, by a load and, without the state, by the history', async () => {
      const { store, run, clock } = open();
      const saver = store({ writer: 'worker 7', schema: { version: 1 } });
      const first = await saver.save({
        run,
        state: { step: 0 },
        writeId: 'w1',
        parent: { run: 'starter', version: 3 },
      });
      clock.forward(SECOND);
      const saved = await saver.save({
        run,
        state: { messages: ['hello'], seen: new Date(0) },
        step: 'book flight',
        stepNumber: 14,
        status: 'WAITING_FOR_APPROVAL',
        name: 'before-payment',
        labels: { ticket: 'T-1', empty: '' },
        toolResults: { call_1: { ok: true }, call_2: [1, 2] },
        model: { id: 'claude', temperature: 0.5, topP: 0.9, seed: 7, stop: ['\n'] },
        writeId: 'w2',
      });
      const story = {
        run,
        version: 2,
        kind: 'save',
        status: 'WAITING_FOR_APPROVAL',
        step: 'book flight',
        stepNumber: 14,
        name: 'before-payment',
        labels: { ticket: 'T-1', empty: '' },
        schema: 1,
        parent: { run, version: 1 },
        savedAt: new Date(clock.now),
        writer: 'worker 7',
        writeId: 'w2',
        hash: expect.stringMatching(/^[\w-]{20,}$/),
        previousHash: first.hash,
        pruned: false,
        bytes: expect.any(Number),
      };
      const whole = {
        ...story,
        state: { messages: ['hello'], seen: new Date(0) },
        toolResults: { call_1: { ok: true }, call_2: [1, 2] },
        model: { id: 'claude', temperature: 0.5, topP: 0.9, seed: 7, stop: ['\n'] },
      };
      expect(saved).toStrictEqual(whole);
      const reader = store({ schema: { version: 1 } });
      expect(await reader.load(run)).toStrictEqual(whole);
      expect(await reader.load(run, 2)).toStrictEqual(whole);
      expect(await reader.load(run, { name: 'before-payment' })).toStrictEqual(whole);
      expect(await all(reader.history(run, { from: 2 }))).toStrictEqual([story]);
      expect(await reader.load(run, 1)).toStrictEqual(first);
    });

    test('have defaults when only the run is given', async () => {
      const { store, run, clock } = open();
      await store({ writer: 'me' }).save({ run });
      expect(await store().load(run)).toStrictEqual({
        run,
        version: 1,
        kind: 'save',
        status: 'RUNNING',
        stepNumber: 0,
        labels: {},
        savedAt: new Date(clock.now),
        writer: 'me',
        writeId: expect.any(String),
        hash: expect.any(String),
        pruned: false,
        bytes: expect.any(Number),
        state: undefined,
        toolResults: {},
      });
    });

    test('include the parent from the first save, and no later save can set one', async () => {
      const { store, run } = open();
      const saver = store();
      const parent = { run: 'the caller', version: 12 };
      expect(await saver.save({ run, state: 1, parent })).toMatchObject({ parent });
      expect(await saver.describe(run)).toMatchObject({ parent });
      await expect(saver.save({ run, state: 2, parent })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      expect(await store().load(run)).toMatchObject({ version: 1, parent });
    });

    test('include the writer, by default the machine and the process', async () => {
      const { store, run } = open();
      const saver = store();
      expect((await saver.save({ run })).writer).toContain(String(process.pid));
      const other = store({ writer: 'another' });
      await other.load(run);
      await other.save({ run });
      expect((await all(saver.history(run))).map(({ writer }) => writer === 'another')).toEqual([false, true]);
    });

    test('include a hash that differs for any two checkpoints and links each to its predecessor', async () => {
      const { store, run } = open();
      const saver = store();
      const saved = [];
      for (const state of ['one', 'one', 'two'])
        saved.push(await saver.save({ run, state, writeId: `same${saved.length}` }));
      const other = await store().save({ run: `${run} 2`, state: 'one', writeId: 'same0' });
      expect(new Set([...saved, other].map(({ hash }) => hash)).size).toBe(4);
      expect(saved.map(({ previousHash }) => previousHash)).toEqual([undefined, saved[0]?.hash, saved[1]?.hash]);
    });

    test('include a step number that counts up when none is given', async () => {
      const { store, run } = open();
      const saver = store();
      const inputs = [
        {},
        { step: 'a' },
        { step: 'a' },
        {},
        { step: 'b', stepNumber: 10 },
        { step: 'c' },
        { stepNumber: 0 },
      ];
      const numbers = [];
      for (const input of inputs) numbers.push((await saver.save({ run, ...input })).stepNumber);
      expect(numbers).toEqual([0, 1, 2, 2, 10, 11, 0]);
    });

    test('do not carry over step, labels and model to later checkpoints', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 1, step: 'a', labels: { l: '1' }, model: { id: 'm' } });
      await saver.save({ run, state: 2 });
      const later = await store().load(run);
      expect(later).not.toHaveProperty('step');
      expect(later).not.toHaveProperty('model');
      expect(later.labels).toEqual({});
      expect(await store().load(run, 1)).toMatchObject({ step: 'a', labels: { l: '1' }, model: { id: 'm' } });
    });
  });

  describe('tool results', () => {
    test('are added to those of the run, and replaced by call id', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, toolResults: { a: 1, b: { deep: [1] } } });
      await saver.save({ run, state: 'changed' });
      const saved = await saver.save({ run, toolResults: { b: 'new', c: undefined } });
      expect(saved.toolResults).toStrictEqual({ a: 1, b: 'new', c: undefined });
      expect((await store().load(run)).toolResults).toStrictEqual({ a: 1, b: 'new', c: undefined });
      expect((await store().load(run, 2)).toolResults).toStrictEqual({ a: 1, b: { deep: [1] } });
    });

    test('are forgotten by call id or all at once, except the new ones of that save', async () => {
      const { store, run } = open();
      const saver = store();
      await saver.save({ run, state: 's', toolResults: { a: 1, b: 2, c: 3 } });
      await saver.save({ run, forgetToolResults: ['a', 'never there'] });
      expect((await store().load(run)).toolResults).toStrictEqual({ b: 2, c: 3 });
      await saver.save({ run, forgetToolResults: ['b'], toolResults: { b: 'again' } });
      expect((await store().load(run)).toolResults).toStrictEqual({ c: 3, b: 'again' });
      await saver.save({ run, forgetToolResults: true, toolResults: { d: 4 } });
      expect(await store().load(run)).toMatchObject({ state: 's', toolResults: { d: 4 } });
      expect((await store().load(run)).toolResults).toStrictEqual({ d: 4 });
      expect((await store().load(run, 1)).toolResults).toStrictEqual({ a: 1, b: 2, c: 3 });
    });

    test('can be many, and each is added, replaced and forgotten separately', async () => {
      const { store, run, stored } = open();
      const saver = store();
      const expected: Record<string, unknown> = {};
      for (let i = 0; i < 300; i++) expected[`call ${i}`] = { i, text: `result ${i}` };
      await saver.save({ run, state: 's', toolResults: expected });
      await saver.save({ run, toolResults: { 'call 7': 'replaced', 'call 300': 'added' } });
      await saver.save({ run, forgetToolResults: ['call 8', 'call 299'] });
      expect((await store().load(run, 1)).toolResults).toEqual(expected);
      Object.assign(expected, { 'call 7': 'replaced', 'call 300': 'added' });
      expect((await store().load(run, 2)).toolResults).toEqual(expected);
      for (const id of ['call 8', 'call 299']) delete expected[id];
      const newest = await store().load(run);
      expect(newest.toolResults).toEqual(expected);
      expect(newest.toolResults).toBe(newest.toolResults);
      for (const version of [2, 3]) expect((await stored().record(version)).body?.length).toBeLessThan(300);
      expect((await saver.save({ run, forgetToolResults: true })).toolResults).toStrictEqual({});
      expect((await store().load(run)).toolResults).toStrictEqual({});
    });

    test('can have any text as a call id', async () => {
      const { store, run } = open();
      const ids = ['$', '__proto__', 'constructor', '', '0', 'a/b', 'ü', '{"$":1}', 'call id'];
      const toolResults = Object.fromEntries(ids.map((id, i) => [id, { of: i }]));
      const saver = store();
      await saver.save({ run, toolResults });
      deepStrictEqual((await store().load(run)).toolResults, toolResults);
      await saver.save({ run, forgetToolResults: ids.slice(1) });
      expect((await store().load(run)).toolResults).toStrictEqual({ $: { of: 0 } });
      await saver.save({ run, toolResults: { $: ['payload', 'id', 'hash', 3] } });
      expect((await store().load(run)).toolResults).toStrictEqual({ $: ['payload', 'id', 'hash', 3] });
    });

    test('support the same values as a state, and reject others with their path', async () => {
      const { store, run, stored } = open();
      const toolResults = { call: { at: new Date(5), big: 5n, set: new Set([1]) } };
      await store().save({ run, toolResults });
      expect((await store().load(run)).toolResults).toStrictEqual(toolResults);
      const refused = store().save({ run: `${run} 2`, toolResults: { 'call 1': { handler: () => {} } } });
      await expect(refused).rejects.toThrow('toolResults["call 1"].handler is a function');
      expect(await stored(`${run} 2`).records()).toEqual([]);
    });
  });

  describe('an invalid field', () => {
    test.each<[string, unknown, RegExp]>([
      ['step', '', /`step` must be text of 1 to 1000 characters; found ""/],
      ['step', 7, /`step` must be text/],
      ['step', 'x'.repeat(1001), /`step` must be text/],
      ['stepNumber', -1, /`stepNumber` must be a whole number from 0; found -1/],
      ['stepNumber', 1.5, /`stepNumber` must be a whole number/],
      ['status', 'DONE', /`status` must be one of READY, .*; found "DONE"/],
      ['status', 'toString', /`status` must be one of/],
      ['name', '', /checkpoint name id must be text of at least one character/],
      ['name', 5, /checkpoint name id must be text/],
      ['labels', ['a'], /`labels` must be an object whose values are text/],
      ['labels', { a: 1 }, /`labels` must be an object whose values are text, .*; found \{"a":1\}/],
      ['labels', 'a', /`labels` must be an object/],
      ['labels', { a: 'x'.repeat(17_000) }, /`labels` must be .* at most 16384 characters as JSON/],
      ['toolResults', [1], /`toolResults` must be an object of results by call id/],
      ['toolResults', null, /`toolResults` must be an object/],
      ['forgetToolResults', 'a', /`forgetToolResults` must be true or a list of call ids/],
      ['forgetToolResults', false, /`forgetToolResults` must be true or a list of call ids; found false/],
      ['forgetToolResults', [1], /`forgetToolResults` must be/],
      ['model', 'gpt', /`model` must be an object of parameters/],
      ['model', { tools: [() => {}] }, /model\.tools\[0\] is a function/],
      ['writeId', '', /`writeId` must be text of 1 to 256 characters/],
      ['agent', {}, /`agent` must be text/],
      ['owner', '', /owner id must be/],
      ['owner', '\ud800', /owner id must be well-formed Unicode/],
      ['tags', 'a', /`tags` must be a list of texts/],
      ['tags', [''], /`tags` must be a list of texts/],
      ['tags', [1], /`tags` must be a list of texts/],
      ['tags', ['x'.repeat(257)], /`tags` must be a list of texts/],
      ['retention', 60, /`retention` must be a duration up to 100 years, such as .*; found 60/],
      ['retention', null, /`retention` must be a duration/],
      ['retention', {}, /`retention` must be a duration/],
      ['retention', { weeks: 1 }, /`retention` must be a duration/],
      ['retention', { days: '1' }, /`retention` must be a duration/],
      ['retention', { days: Number.POSITIVE_INFINITY }, /`retention` must be a duration/],
      ['retention', { days: 0 }, /`retention` must be longer than 0/],
      ['parent', { run: '', version: 1 }, /parent run id must be/],
      ['parent', { run: 'a', version: 0 }, /version of the parent must be a whole number from 1/],
    ])('is rejected before anything is written when `%s` is %o', async (field, value, message) => {
      const { store, run, stored } = open();
      const saver = store();
      const input = { run, state: 1, [field]: value } as SaveInput;
      await expect(saver.save(input)).rejects.toThrow(message);
      expect(await stored().records()).toEqual([]);
      await saver.save({ run, state: 'before' });
      await expect(saver.save(input)).rejects.toMatchObject({
        name: 'WaitstateError',
        code: expect.stringMatching(/^(INVALID_INPUT|UNSUPPORTED_VALUE)$/),
      });
      await expect(saver.update(run, () => 'changed', { [field]: value })).rejects.toThrow();
      expect(await all(saver.history(run))).toHaveLength(1);
      expect(await saver.save({ run, state: 'after' })).toMatchObject({ version: 2 });
    });

    test('is rejected in the options of a store when it is created', () => {
      const { store } = open();
      expect(() => store({ tenant: '' })).toThrow(/tenant id must be/);
      expect(() => store({ retention: { seconds: -1 } })).toThrow(/`retention` must be a duration/);
      // @ts-expect-error A number has no unit.
      expect(() => store({ retention: 60 })).toThrow(/`retention` must be a duration/);
      expect(() => store({ schema: { version: 0 } })).toThrow(/schema is invalid/);
    });
  });
}
