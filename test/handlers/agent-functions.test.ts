import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, it } from 'vitest';
import { lambdaFunctions } from '../../lambda/handlers/agent-functions.ts';
import { handlerScene } from './scene.ts';

/** A Lambda endpoint whose functions never return. */
async function hangingLambda() {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new LambdaClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  });
  return {
    functions: lambdaFunctions(client, 0.2),
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('an agent function that never returns', () => {
  it('times out', async () => {
    await using lambda = await hangingLambda();
    await expect(lambda.functions.invokeAndWait('quotes-fn', {})).rejects.toMatchObject({
      code: 'TIMED_OUT',
      message: expect.stringMatching(/"quotes-fn" did not return within 0.2 seconds. Move longer/),
    });
  });

  it('makes the notification due later and does not block the stream', async () => {
    await using lambda = await hangingLambda();
    const scene = await handlerScene();
    Object.assign(scene.shared.functions, { invokeAndWait: lambda.functions.invokeAndWait });
    const at = { waitstate: 1, run: 'r' };
    await scene.checkpoint({ ...at, action: 'save', expectedVersion: 0, agent: 'quotes', state: 1 });
    const approval = { name: 'buy', title: 'Buy?', approvers: ['user:ann'] };
    await scene.checkpoint({ ...at, action: 'requestApproval', expectedVersion: 1, approval });
    expect(await scene.notify({ Records: await scene.nextRecords() })).toEqual({ batchItemFailures: [] });
    expect(scene.counts.get('NotificationFailed')).toBe(1);
    expect(scene.logged.join()).toContain('TIMED_OUT');
    scene.clock.moveTo(scene.clock.now() + 61_000);
    expect(await scene.sweep()).toMatchObject({ failed: 1 });
    expect(scene.counts.get('NotificationFailed')).toBe(2);
  });
});
