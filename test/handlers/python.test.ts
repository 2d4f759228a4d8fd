import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CHECKPOINT_FUNCTION_VARIABLE } from '../../lambda/environment/names.ts';
import { waitForResult } from '../../lambda/runtime/control/run-control.ts';
import { codeBlocks, pages } from '../docs/markdown.ts';
import { type HandlerScene, handlerScene, linkEvent } from './scene.ts';

const page = pages.find(({ path }) => path === 'docs/guides/other-languages.md');
const code = page && codeBlocks(page).find(({ language, code }) => language === 'python' && code.includes('boto3'));

const has = (...args: string[]): boolean => {
  try {
    execFileSync('python3', args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** The Invoke API of Lambda, as boto3 calls it, in front of the checkpoint handler. */
async function lambdaEndpoint(scene: HandlerScene): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const content = request.url?.startsWith('/2015-03-31/functions/checkpoint-fn/invocations')
      ? await scene.checkpoint(JSON.parse(body))
      : undefined;
    response.writeHead(content ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${Object(server.address()).port}`;
}

describe.runIf(has('--version'))('the Python agent without the client in the docs', () => {
  it('is valid Python', () => {
    execFileSync('python3', ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], {
      input: code?.code ?? 'not there(',
    });
  });

  it.runIf(has('-c', 'import boto3'))(
    'saves, requests an approval, resumes with the decision, and finishes',
    async () => {
      const scene = await handlerScene();
      const endpoint = await lambdaEndpoint(scene);
      const folder = mkdtempSync(join(tmpdir(), 'waitstate-python-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      writeFileSync(join(folder, 'agent.py'), code?.code ?? '');
      const env = {
        ...process.env,
        AWS_ENDPOINT_URL_LAMBDA: endpoint,
        AWS_REGION: 'us-east-1',
        AWS_DEFAULT_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'test',
        AWS_SECRET_ACCESS_KEY: 'test',
        [CHECKPOINT_FUNCTION_VARIABLE]: 'checkpoint-fn',
      };
      const program = 'import agent, json, sys; agent.handler(json.load(sys.stdin), None)';
      // Each invocation is a new process, as after a wait of days.
      scene.behind.set(
        'quotes-fn',
        (event) =>
          new Promise((resolve, reject) => {
            const child = execFile('python3', ['-c', program], { cwd: folder, env }, (error, out) =>
              error ? reject(error) : resolve(out),
            );
            child.stdin?.end(JSON.stringify(event));
          }),
      );
      await scene.checkpoint({ waitstate: 1, action: 'start', run: 'q', agent: 'quotes', input: { item: 'chair' } });
      expect(await scene.flow()).toEqual([]);
      const notice = scene.sent.invocations.find(({ event }) => 'notify' in event)?.event.notify;
      const { title, links } = notice as { title: string; links: { url: string }[] };
      expect(title).toBe('Buy for 12?');
      const token = links[0]?.url.split('/').at(-1) ?? '';
      expect((await scene.api(linkEvent('POST', token, '{"answer":"approve"}'))).statusCode).toBe(200);
      expect(await scene.flow()).toEqual([]);
      const runtime = { contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} };
      expect(await waitForResult(runtime, 'q')).toEqual({ bought: true, price: 12 });
      const { checkpoint } = await scene.checkpoint({ waitstate: 1, action: 'load', run: 'q' });
      expect(checkpoint.toolResults).toEqual({ buy: { order: 'order of chair' } });

      await scene.checkpoint({
        waitstate: 1,
        action: 'start',
        run: 'large',
        agent: 'quotes',
        input: { item: 'x'.repeat(300_000) },
      });
      expect(await scene.flow()).toEqual([]);
      expect(scene.sent.invocations.at(-1)?.event).toMatchObject({ run: 'large' });
      expect((await scene.checkpoint({ waitstate: 1, action: 'load', run: 'large' })).checkpoint.status).toBe(
        'WAITING_FOR_APPROVAL',
      );
    },
  );
});
