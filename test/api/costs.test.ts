import { describe, expect, it } from 'vitest';
import { memoryStorage } from '../../lambda/storage/memory.ts';
import { counted } from '../runtime/storages.ts';
import { apiScene, caller } from './scene.ts';

describe('a read request', () => {
  it.each([
    [{ list: 1 }, '/api/runs?status=WAITING_FOR_APPROVAL'],
    [{ list: 2 }, '/api/runs?status=WAITING_FOR_APPROVAL&status=FAILED&agent=trips&tag=x&step=book'],
    [{ list: 9 }, '/api/runs?status=RUNNING'],
    [{ list: 1 }, '/api/runs?owner=ann'],
    [{ list: 1 }, '/api/runs?owner=ann&status=WAITING_FOR_APPROVAL&agent=trips'],
    [{ list: 17 }, '/api/runs'],
    [{ list: 17 }, '/api/counts'],
    [{ range: 1 }, '/api/runs/trip'],
    [{ read: 1, range: 1 }, '/api/runs/trip/checkpoints'],
    [{ read: 1, range: 1 }, '/api/runs/trip/approvals'],
    [{ list: 1, read: 1 }, '/api/approvals'],
    [{ list: 3, read: 1 }, '/api/approvals?all=true'],
  ])('costs exactly the storage requests %j at %s', async (expected, path) => {
    const { storage, calls } = counted(memoryStorage());
    const { callApi, settle } = apiScene(storage);
    await callApi('/api/runs', { json: { agent: 'trips', id: 'trip', owner: 'ann' } });
    await settle();
    const before = { ...calls };
    expect((await callApi(path, { as: caller() })).status).toBe(200);
    const made = Object.entries(calls).map(
      ([call, count]) => [call, count - before[call as keyof typeof before]] as const,
    );
    expect(Object.fromEntries(made.filter(([, count]) => count > 0))).toEqual(expected);
  });
});
