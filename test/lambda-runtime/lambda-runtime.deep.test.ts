import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readHead } from '../../lambda/checkpoints/format/records.ts';
import { HANDLERS } from '../../lambda/environment/names.ts';
import type { StreamRecord } from '../../lambda/handlers/stream-records.ts';
import { SHUTDOWN_MARGIN_MS } from '../../lambda/runtime/agent/lambda-handler.ts';
import { LEASE_GRACE_MS } from '../../lambda/runtime/invocation/claim.ts';
import { HEAD_KEY } from '../../lambda/storage/keys.ts';
import type { Account } from '../infra/deployed/account.ts';
import type { Program } from '../infra/deployed/lambda-process.ts';
import { api, assembled, callerOf, closeAll, deploy, runFunctionsIn } from '../infra/deployed/scene.ts';
import { otherLanguage } from '../infra/deployed/stories/other-language.ts';
import { overTime } from '../infra/deployed/stories/over-time.ts';
import { wholeStory } from '../infra/deployed/stories/whole-story.ts';
import { freshFolder } from '../infra/template.ts';
import { openRuntimeSandbox } from './runtime-sandbox.ts';

// AWS's runtime interface client loads and calls the bundles here, instead of test/infra/deployed/runner.mjs.
describe.skipIf(process.env.DYNAMODB_TABLE)("a deployed stack on Lambda's runtime interface client", () => {
  const succeeded = new Set<string>();
  const unchanged = (program: Program): Program => program;
  let change = unchanged;

  beforeAll(async () => {
    runFunctionsIn((program) => {
      const sandbox = openRuntimeSandbox(change(program));
      return {
        ...sandbox,
        async invoke(...args) {
          const outcome = await sandbox.invoke(...args);
          if (!outcome.error) succeeded.add(program.handler);
          return outcome;
        },
      };
    });
    await assembled();
  }, 300_000);
  beforeEach(() => {
    change = unchanged;
  });
  afterAll(closeAll);

  // The API is called by API Gateway, resume and notify by the stream, sweep and gauge by schedules, and checkpoint by
  // an agent.
  wholeStory();
  otherLanguage();
  overTime();

  it('has run every handler from a cold start', () => {
    expect([...succeeded].sort()).toEqual([...HANDLERS, 'index'].map((name) => `${name}.handler`).sort());
  });

  describe('a function', () => {
    let account: Account;
    beforeAll(async () => {
      account = await deploy('plain');
    });

    it('reports an error of its handler with type, message and stack trace', async () => {
      expect((await account.invoke('Agent-orders', { order: 1 })).error).toEqual({
        errorType: 'WaitstateError',
        errorMessage: expect.stringMatching(/^The event of agent "orders" must be { run, tenant }; found .*order/),
        trace: expect.arrayContaining([expect.stringMatching(/^ +at .*lambda-handler.ts:\d+/)]),
      });
    });

    it('names a variable that its environment lacks', async () => {
      change = ({ environment: { WAITSTATE_TABLE: _, ...environment }, ...program }) => ({ ...program, environment });
      expect((await account.invoke('Sweep', {})).error).toMatchObject({
        errorType: 'WaitstateError',
        errorMessage: expect.stringMatching(/WAITSTATE_TABLE/),
      });
    });

    it('reports which module is missing when its code cannot be loaded', async () => {
      const folder = freshFolder();
      cpSync(account.named('Sweep').folder, folder, { recursive: true });
      for (const file of readdirSync(folder)) if (file.startsWith('chunk-')) rmSync(join(folder, file));
      change = (program) => ({ ...program, folder });
      expect((await account.invoke('Sweep', {})).error).toMatchObject({
        errorType: 'Error',
        errorMessage: expect.stringMatching(/^Cannot find module '.*chunk-\w+.mjs' imported from .*sweep.mjs$/),
      });
    });

    it('claims a run until its own deadline', async () => {
      const body = { agent: 'orders', id: 'o-1', input: { item: 'chair' } };
      await api(account, 'POST', '/api/runs', callerOf(account, 'Shop'), body);
      change = (program) => ({ ...program, timeoutSeconds: 100 });
      const start = Date.now();
      await account.invoke('Agent-orders', { run: 'o-1', tenant: 'default' });
      const [lease] = (await account.storage.nextRecords()).flatMap(leaseIn);
      const deadline = Number(lease?.until) - LEASE_GRACE_MS + SHUTDOWN_MARGIN_MS;
      expect(deadline - start).toBeGreaterThanOrEqual(100_000);
      expect(deadline - start).toBeLessThan(110_000);
    });
  });
});

/** The lease in the head of a run, if a stream record contains one. */
function leaseIn({ dynamodb }: StreamRecord) {
  const { pk, sk, r, m } = (dynamodb?.NewImage ?? {}) as Readonly<Record<string, { readonly S?: string }>>;
  if (!pk?.S || !r?.S || !m?.S || sk?.S !== HEAD_KEY) return [];
  return readHead({ partition: pk.S, key: sk.S, revision: r.S, meta: m.S }).meta.work?.lease ?? [];
}
