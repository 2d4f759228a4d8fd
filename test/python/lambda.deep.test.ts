import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CHECKPOINT_FUNCTION_VARIABLE } from '../../lambda/environment/names.ts';
import { waitForResult } from '../../lambda/runtime/control/run-control.ts';
import { projectOf, until } from '../cli/dev/scene.ts';
import { type HandlerScene, handlerScene, linkEvent } from '../handlers/scene.ts';
import { hasPython, pythonEnvironment } from './python.ts';

// The agent appends a line to effects.txt in each step. The step `slow` waits for the file `go`.
const AGENT = `
import os, time
from waitstate import RetryPolicy, agent

def effect(text):
    with open("effects.txt", "a") as file:
        file.write(text + "\\n")

def slow(step):
    effect(f"slow {os.getpid()} {step.idempotency_key}")
    while not os.path.exists("go"):
        time.sleep(0.02)

@agent(name="quotes", notify=lambda notice: effect("notify " + notice["links"][0]["url"]), retry=RetryPolicy(initial_delay={"milliseconds": 1}))
def quotes(ctx, input):
    ctx.step("quote", lambda: effect("quote"))
    if input.get("slow"):
        ctx.step("slow", slow)
    decision = ctx.approval("buy", title="Buy for 12?", approvers=["user:ann"])
    def buy(step):
        effect(f"buy {step.attempt}")
        if step.attempt == 1:
            raise ValueError("sold out")
        return f"order of {input['item'][:5]}"
    return ctx.step("buy", buy) if decision.approved else None

handler = quotes.handler()
`;

// Lambda's Invoke API without boto3, which is part of Lambda's Python runtime.
const PROGRAM = `
import io, json, sys, urllib.request
import agent
from waitstate.functions import CheckpointFunction
from waitstate.lambda_handler import lambda_handler

class Client:
    def invoke(self, FunctionName, Payload):
        url = f"{ENDPOINT}/2015-03-31/functions/{FunctionName}/invocations"
        with urllib.request.urlopen(urllib.request.Request(url, Payload)) as response:
            return {"Payload": io.BytesIO(response.read())}

class Context:
    def __init__(self, request):
        self.aws_request_id = request
    def get_remaining_time_in_millis(self):
        return 900_000

ENDPOINT, request = sys.argv[1:]
handler = lambda_handler(agent.quotes, transport=CheckpointFunction(client=Client()))
print(json.dumps(handler(json.load(sys.stdin), Context(request))))
`;

/** The Invoke API of Lambda in front of the checkpoint handler. */
async function lambdaEndpoint(scene: HandlerScene): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const content = await scene.checkpoint(JSON.parse(body));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${Object(server.address()).port}`;
}

/** The handlers, with a Python agent as the function of `quotes`. Each invocation is a new process. */
async function pythonScene() {
  const scene = await handlerScene();
  const endpoint = await lambdaEndpoint(scene);
  const project = projectOf({ 'agent.py': AGENT, 'program.py': PROGRAM });
  const env = pythonEnvironment({ [CHECKPOINT_FUNCTION_VARIABLE]: 'checkpoint-fn' });
  async function invoke(event: object, request: string, onStart?: (child: ChildProcess) => void): Promise<string> {
    const child = spawn('python3', ['program.py', endpoint, request], { cwd: project.path, env });
    onStart?.(child);
    child.stdin.end(JSON.stringify(event));
    let output = '';
    let errors = '';
    child.stdout.on('data', (piece) => {
      output += piece;
    });
    child.stderr.on('data', (piece) => {
      errors += piece;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`exit code ${code}: ${errors}`);
    return JSON.parse(output).outcome;
  }
  let requests = 0;
  scene.behind.set('quotes-fn', (event) => invoke(event, `request-${requests++}`));
  const start = (run: string, input: object) =>
    scene.checkpoint({ waitstate: 1, action: 'start', run, agent: 'quotes', input });
  const effects = () => project.lines('effects.txt').filter((line) => !line.startsWith('notify'));
  const approve = async () => {
    const link = project.lines('effects.txt').findLast((line) => line.startsWith('notify ')) ?? '';
    const response = await scene.api(linkEvent('POST', link.split('/').at(-1) ?? '', '{"answer":"approve"}'));
    expect(response.statusCode).toBe(200);
    expect(await scene.flow()).toEqual([]);
  };
  const result = (run: string) =>
    waitForResult({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} }, run);
  return { scene, project, invoke, start, effects, approve, result };
}

describe.skipIf(!hasPython())('a Python agent on Lambda', () => {
  it('suspends for an approval, resumes in a new process, and retries a step that fails', async () => {
    const { scene, start, effects, approve, result } = await pythonScene();
    await start('q', { item: 'chair' });
    expect(await scene.flow()).toEqual([]);
    expect(effects()).toEqual(['quote']);
    await approve();
    expect(await result('q')).toBe('order of chair');
    expect(effects()).toEqual(['quote', 'buy 1', 'buy 2']);
  });

  it('gets content that is too large for an event', async () => {
    const { scene, start, effects, approve, result } = await pythonScene();
    await start('large', { item: 'x'.repeat(300_000) });
    expect(await scene.flow()).toEqual([]);
    await approve();
    expect(await result('large')).toBe('order of xxxxx');
    expect(effects()).toEqual(['quote', 'buy 1', 'buy 2']);
  });

  it('continues in a retry of Lambda after its process was killed, and does not repeat recorded steps', async () => {
    const { scene, project, invoke, start, effects, approve, result } = await pythonScene();
    const events: object[] = [];
    scene.behind.set('quotes-fn', async (event) => {
      if ('notify' in (event as object)) return invoke(event, 'notify');
      events.push(event);
    });
    await start('killed', { item: 'chair', slow: true });
    await scene.flow();
    const [event = {}] = events;
    let killed: ChildProcess | undefined;
    const first = invoke(event, 'request-1', (child) => {
      killed = child;
    });
    await until('the slow step', () => effects().length === 2);
    killed?.kill('SIGKILL');
    await expect(first).rejects.toThrow('exit code');
    // Another delivery of the same event, such as a duplicate, must not take over the run.
    expect(await invoke(event, 'request-2')).toBe('lost');
    project.write('go', '');
    expect(await invoke(event, 'request-1')).toBe('suspended');
    expect(effects().map((line) => line.split(' ')[0])).toEqual(['quote', 'slow', 'slow']);
    expect(
      new Set(
        effects()
          .slice(1)
          .map((line) => line.split(' ')[2]),
      ).size,
    ).toBe(1);
    scene.behind.set('quotes-fn', (later) => invoke(later, 'request-3'));
    await scene.flow();
    await approve();
    expect(await result('killed')).toBe('order of chair');
  });

  it('ends a run that was cancelled while its process works', async () => {
    const { scene, project, invoke, start, effects } = await pythonScene();
    const events: object[] = [];
    scene.behind.set('quotes-fn', async (event) => void events.push(event));
    await start('cancelled', { item: 'chair', slow: true });
    await scene.flow();
    const invoked = invoke(events[0] ?? {}, 'request-1');
    await until('the slow step', () => effects().length === 2);
    const { cancelRun } = await import('../../lambda/runtime/control/run-control.ts');
    await cancelRun({ contexts: scene.contexts, clock: scene.clock, random: () => 0, log: () => {} }, 'cancelled', '');
    project.write('go', '');
    expect(await invoked).toBe('finished');
    const { checkpoint } = await scene.checkpoint({ waitstate: 1, action: 'load', run: 'cancelled' });
    expect(checkpoint.status).toBe('CANCELLED');
    expect(checkpoint.toolResults).toHaveProperty('slow', null);
  });
});
