import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { Saved } from '../../../lambda/api/schemas/checkpoints.ts';
import { Loaded } from '../../../lambda/api/schemas/invocation.ts';
import { type Check, expectEqual, expectStatus, read } from './check.ts';

const Conflict = z.looseObject({ code: z.literal('STALE_VERSION'), found: z.looseObject({ version: z.int() }) });

interface Step {
  readonly step: string;
  readonly [field: string]: unknown;
}

// Too large for a record, even compressed.
const LARGE_BYTES = 60_000;

export const SAVING: Check = {
  name: 'a large state is loaded unchanged from the bucket, and a stale write is refused',
  async run({ api }) {
    const at = '/api/runs/integ-saved';
    const text = randomBytes(LARGE_BYTES).toString('base64');
    const save = (condition: Readonly<Record<string, string>>, body: Step, path = 'checkpoints') =>
      api('POST', `${at}/${path}`, { body, headers: { ...condition, 'idempotency-key': body.step } });
    const one = { step: 'one', state: { text } };
    const two = { step: 'two', state: { text, more: true } };
    const first = read(await save({ 'if-none-match': '*' }, one), 201, Saved);
    const second = read(await save({ 'if-match': '"1"' }, two), 201, Saved);
    expectEqual('The versions', [first.version, second.version], [1, 2]);

    const late = await save({ 'if-match': '"1"' }, { step: 'late', state: {} });
    expectEqual('The version in the conflict', read(late, 412, Conflict).found.version, 2);

    const { checkpoint } = read(await api('GET', `${at}/load`), 200, Loaded);
    expectEqual('The loaded version', checkpoint.version, 2);
    expectEqual('The loaded state', checkpoint.state, two.state);
    expectStatus(await save({ 'if-match': '"2"' }, { step: 'end', status: 'SUCCEEDED' }, 'finish'), 201);
  },
};
