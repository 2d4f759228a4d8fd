import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WaitstateError } from '../../lambda/core/errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { jsonText } from '../terminal/json-text.ts';
import { dim, type Line, styled } from '../terminal/line.ts';
import { type Api, createApi, runPath } from './conformance/api.ts';
import { runReferenceAgent } from './conformance/reference-agent.ts';
import { expectEqual, SCENARIOS, type Scenario, waitForStatus } from './conformance/scenarios.ts';
import { SERVER_CHECKS } from './conformance/server-checks.ts';

export interface ConformanceOptions {
  readonly url?: string;
  readonly key?: string;
  readonly exec?: string;
  readonly worker?: boolean;
  readonly agent: string;
  readonly json?: boolean;
}

/** `waitstate conformance`: tests a server, or a client in another language; exit code 1 if a check fails. */
export async function conformance(session: Session, options: ConformanceOptions): Promise<ExitCode> {
  const { url, key, exec, worker = false, agent } = options;
  if (exec !== undefined && (url !== undefined || worker))
    throw new WaitstateError('INVALID_INPUT', '--exec starts a server of its own. Leave out --url and --worker.');
  if (worker && url === undefined)
    throw new WaitstateError('INVALID_INPUT', '--worker needs --url: the server that your worker asks for runs.');
  if (key !== undefined && url === undefined)
    throw new WaitstateError('INVALID_INPUT', '--key needs --url: the server that the key is for.');
  const log: Line[] = [];
  const server =
    url === undefined
      ? await temporaryServer(exec, (line) => void log.push(line))
      : { url, key: key ?? session.terminal.environment.WAITSTATE_KEY, close: async () => {} };
  const api = createApi(server.url, server.key);
  const prefix = `conformance-${randomBytes(4).toString('hex')}`;
  const counts = { passed: 0, failed: 0 };
  const check = async (name: string, work: () => Promise<void>) => {
    log.length = 0;
    if (await report(session, counts, name, work)) return;
    if (!session.isJson) session.terminal.print(...log.slice(-MAX_LOG_LINES).map((line) => [dim('  │ '), line].flat()));
  };
  try {
    // A client under test takes every run of the agent, so the server is tested only with the reference agent.
    if (exec === undefined && !worker)
      for (const [i, { name, run }] of SERVER_CHECKS.entries())
        await check(`server ${name}`, () => run(api, agent, `${prefix}-server-${i}`));
    const stop = new AbortController();
    const usesReference = exec === undefined && !worker;
    // If it fails, so do the checks.
    const reference = usesReference ? runReferenceAgent(api, agent, stop.signal).catch(() => {}) : undefined;
    for (const [i, scenario] of SCENARIOS.entries())
      await check(`client ${scenario.name}`, () => play(api, agent, `${prefix}-${i}`, scenario));
    stop.abort();
    await reference;
  } finally {
    await server.close();
  }
  const { passed, failed } = counts;
  if (!session.isJson)
    session.terminal.print(
      '',
      failed === 0
        ? styled('green', `All ${passed} checks passed.`)
        : styled('red', `${failed} of ${passed + failed} checks failed.`),
    );
  return failed > 0 ? EXIT.failed : EXIT.ok;
}

/** Starts a run with the script of a scenario, and checks what comes of it. */
async function play(api: Api, agent: string, run: string, scenario: Scenario): Promise<void> {
  const { script, act, status, result, check } = scenario;
  const path = runPath(run);
  const becomes = (expected: string, other = run) => waitForStatus(api, other, expected);
  const started = await api.post('/api/runs', { agent, id: run, input: { script } });
  if (started.status !== 201)
    throw new Error(`POST /api/runs answered ${started.status}: ${String(started.json.detail ?? '')}`);
  const scene = { api, run, path, becomes };
  await act?.(scene);
  const ended = await becomes(status);
  if (result !== undefined) expectEqual('The result', result, ended.result);
  await check?.(scene);
}

/** How much of the log of the server is shown with a failed check. */
const MAX_LOG_LINES = 20;

/** Prints whether a check passes, and returns it. */
async function report(
  { terminal, isJson }: Session,
  counts: { passed: number; failed: number },
  name: string,
  work: () => Promise<void>,
): Promise<boolean> {
  const problem = await work().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  counts[problem === undefined ? 'passed' : 'failed'] += 1;
  if (isJson)
    await terminal.write(
      `${jsonText({ check: name, ok: problem === undefined, ...(problem !== undefined && { problem }) })}\n`,
    );
  else if (problem === undefined) terminal.print([styled('green', '✓ '), name]);
  else terminal.print([styled('red', '✗ '), name], [dim('  '), problem]);
  return problem === undefined;
}

/** A local server on a folder of its own, which runs the command. */
async function temporaryServer(exec: string | undefined, print: (line: Line) => void) {
  const { serve } = await import('../dev/server/serve.ts');
  const folder = mkdtempSync(join(tmpdir(), 'waitstate-conformance-'));
  const commands = exec === undefined ? [] : [exec];
  const server = await serve({ files: [], commands, folder, port: 0, watch: false, print });
  const close = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await server.ready;
  } catch (error) {
    await close();
    throw error;
  }
  return { url: server.url, key: server.key, close };
}
