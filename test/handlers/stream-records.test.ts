import { describe, expect, it } from 'vitest';
import { contextFactory } from '../../lambda/checkpoints/context-factory.ts';
import { localKeys } from '../../lambda/checkpoints/encryption/key-ring.ts';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { createCheckpointHandler } from '../../lambda/handlers/factories/create-checkpoint-handler.ts';
import { forEachChange, type StreamRecord } from '../../lambda/handlers/stream-records.ts';
import { type HandlerScene, handlerScene } from './scene.ts';

const KEYS = localKeys({ current: 'k', keys: { k: new Uint8Array(32) } });
const SILENT = { log: () => {}, count: () => {}, runInvocation: <T>(run: () => Promise<T>) => run() };

const aws = (name: string, httpStatusCode: number) =>
  Object.assign(new Error('SECRET'), { name, $metadata: { httpStatusCode } });

/** Sends a request to a handler that does not encrypt runs. */
const withoutEncryption = ({ shared, storage, clock }: HandlerScene, request: object) =>
  createCheckpointHandler({
    ...shared,
    contexts: contextFactory(storage, { clock: () => clock.now(), writer: 'plain' }),
    telemetry: SILENT,
  })({ waitstate: 1, ...request });

const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };
const requestApproval = { action: 'requestApproval', expectedVersion: 1, approval };
const firstSave = { action: 'save', expectedVersion: 0, agent: 'quotes', state: 1 };

describe('a stream batch', () => {
  const record: StreamRecord = {
    dynamodb: { NewImage: { pk: { S: 'a/b' }, sk: { S: 'x' }, r: { S: '1' }, m: { S: '1{}' } }, SequenceNumber: '7' },
  };
  const failing = async (error: Error) => {
    const counted: string[] = [];
    const telemetry = { ...SILENT, count: (metric: string) => void counted.push(metric) };
    const { batchItemFailures } = await forEachChange({ Records: [record] }, telemetry, () => Promise.reject(error));
    return { again: batchItemFailures.map(({ itemIdentifier }) => itemIdentifier), counted };
  };

  it.each([
    'DAMAGED',
    'FORMAT_TOO_NEW',
    'INVALID_INPUT',
    'RECORD_TOO_LARGE',
    'RUN_NOT_ENCRYPTED',
    'RUN_SHREDDED',
    'KEY_UNAVAILABLE',
    'STORAGE_DENIED',
  ] as const)('is not delivered again for the permanent error %s', async (code) => {
    expect(await failing(new WaitstateError(code, 'no'))).toEqual({ again: [], counted: ['MalformedRecord'] });
  });

  it('is delivered again for retryable errors', async () => {
    const again = { again: ['7'], counted: [] };
    expect(await failing(new WaitstateError('STORAGE_UNAVAILABLE', 'not now'))).toEqual(again);
    expect(await failing(aws('ThrottlingException', 400))).toEqual(again);
    expect(await failing(new Error('unknown'))).toEqual(again);
  });

  it('delivers every run except an unencrypted one where encryption is required', async () => {
    const scene = await handlerScene({ keys: KEYS });
    await withoutEncryption(scene, { action: 'start', tenant: 'evil', run: 'plain', agent: 'quotes', input: null });
    await scene.checkpoint({ waitstate: 1, action: 'start', run: 'good', agent: 'quotes', input: null });
    expect(await scene.resume({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.invocations.map(({ event }) => event.run)).toEqual(['good']);
    expect(scene.counts.get('DeliveryFailed')).toBe(1);
    expect(scene.logged.join()).toContain('RUN_NOT_ENCRYPTED');
  });

  it('sends notifications about every approval except that of an unencrypted run', async () => {
    const scene = await handlerScene({ keys: KEYS });
    for (const request of [firstSave, requestApproval])
      await withoutEncryption(scene, { ...request, tenant: 'evil', run: 'plain' });
    for (const request of [firstSave, requestApproval])
      await scene.checkpoint({ waitstate: 1, ...request, run: 'good' });
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.sent.events.map(({ detail }) => detail.run)).toEqual(['good']);
    expect(scene.counts.get('MalformedRecord')).toBe(1);
    expect(scene.logged.join()).toContain('RUN_NOT_ENCRYPTED');
  });

  it.each([
    [0, 'ResourceNotFoundException', 404],
    [0, 'RequestTooLargeException', 413],
    [1, 'AccessDeniedException', 403],
    [1, 'ResourceConflictException', 409],
    [1, 'TooManyRequestsException', 429],
    [1, 'ServiceException', 500],
  ])('has %i records delivered again if Lambda rejects its run with %s and status %i', async (again, name, status) => {
    const scene = await handlerScene();
    await scene.checkpoint({ waitstate: 1, action: 'start', run: 'r', agent: 'refunds', input: null });
    scene.failing.set('refunds-fn', aws(name, status));
    expect((await scene.resume({ Records: await scene.nextRecords() })).batchItemFailures).toHaveLength(again);
    expect(scene.counts.get('DeliveryFailed')).toBe(1);
  });
});
