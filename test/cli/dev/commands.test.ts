import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { codeBlocks, pages } from '../../docs/markdown.ts';
import { isAlive, type Project, projectOf, serverOf, until } from './scene.ts';

/** A program as in any other language: it reads a request from standard input, and calls the API. */
const program = (body: string, agents = `[{ name: 'quotes', description: 'Buys.', example: { item: 'chair' } }]`) => `
  import { appendFileSync, existsSync, readFileSync } from 'node:fs';
  const event = JSON.parse(readFileSync(0, 'utf8'));
  const note = (...words) => appendFileSync('notes.txt', words.join(' ') + '\\n');
  async function post(path, fields, version) {
    const response = await fetch(process.env.WAITSTATE_URL + '/api/runs/' + event.run + '/' + path, {
      method: 'POST',
      headers: {
        authorization: 'Bearer ' + process.env.WAITSTATE_KEY,
        'content-type': 'application/json',
        'if-match': '"' + version + '"',
      },
      body: JSON.stringify(fields),
    });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  }
  const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
  if (event.describe) console.log(JSON.stringify({ waitstate: 1, agents: ${agents} }));
  else if (event.notify) note('notify', event.notify.kind, event.notify.links[0].url);
  else {
    const { version, state } = event.checkpoint;
    const finish = (result) => post('finish', { status: 'SUCCEEDED', result }, version);
    ${body}
  }
`;

const ASKS = `
  console.log('hello from', event.run);
  note('runs', process.pid, version);
  const approval = { name: 'buy', title: 'Buy ' + event.input.item + '?', approvers: ['user:ann'] };
  if (event.approvals.length === 0) await post('approvals', { approval, state: 1, step: 'look' }, version);
  else await finish({ bought: event.approvals[0].approved, state });
`;

const command = (project: Project, name = 'agent.mjs') => `"${process.execPath}" "${project.file(name)}"`;

const serverFor = (body: string, options: Parameters<typeof serverOf>[2] = {}, agents?: string) => {
  const project = projectOf({ 'agent.mjs': program(body, agents) });
  return { project, server: serverOf(project, [], { ...options, commands: [command(project)] }) };
};

describe('a command that runs agents in another language', () => {
  it('is started with each run on its standard input, once for each invocation', async () => {
    const { project, server } = serverFor(ASKS);
    await server.ready();
    expect((await server.callApi<{ agents: object[] }>('/api/agents')).agents).toEqual([
      { name: 'quotes', description: 'Buys.', example: { item: 'chair' } },
    ]);
    await expect(server.start('other')).rejects.toThrow('404');
    const run = await server.start('quotes', { item: 'chair' });
    await server.waitForLine(new RegExp(`${run} +starts: quotes \\(pid \\d+\\)`));
    await server.waitForLine(new RegExp(`${run} +│ hello from ${run}`));
    await server.waitForLine(new RegExp(`${run} +waits for approval "buy" \\(1 step\\)`));
    await server.waitForLine(new RegExp(`${run} +asks user:ann: Buy chair\\?`));
    await fetch(await server.link(run), { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: { bought: true, state: 1 } });
    await server.waitForLine(new RegExp(`${run} +approved by user:ann: Buy chair`));
    await server.waitForLine(new RegExp(`${run} +succeeded after`));
    const notes = project.lines('notes.txt').map((line) => line.split(' '));
    expect(notes.map(([, , version]) => version)).toEqual(['2', '4']);
    for (const [, pid] of notes) expect(isAlive(Number(pid))).toBe(false);
    expect(new Set(notes.map(([, pid]) => pid)).size).toBe(2);
  });

  it('runs every agent that nothing else runs if it does not describe its agents', async () => {
    const project = projectOf({
      'agent.mjs': program('await finish(event.agent);').replace('if (event.describe)', 'if (false)'),
      'file.ts': `import { agent } from 'waitstate'; export const own = agent({ name: 'own', run: async () => 'of the file' });`,
    });
    const server = serverOf(project, ['file.ts'], { commands: [command(project)] });
    await server.ready();
    await server.waitForLine(
      /agent\.mjs"" exited with code 1 when asked for its agents, so it runs every agent that no file, other command or worker runs\./,
    );
    await server.waitForLine(/│ TypeError: Cannot destructure property 'version'/);
    const [own, other] = [await server.start('own'), await server.start('any name')];
    expect(await server.becomes(own, 'SUCCEEDED')).toMatchObject({ result: 'of the file' });
    expect(await server.becomes(other, 'SUCCEEDED')).toMatchObject({ result: 'any name' });
  });

  it('is started again after a crash, and the run fails if it makes no progress', async () => {
    const { project, server } = serverFor(
      `note('runs', version); if (event.input === 'silent') process.exit(0); throw new Error('broken');`,
      { timing: { crashBackoffMs: 20 } },
    );
    await server.ready();
    const loud = await server.start('quotes', 'loud');
    await server.waitForLine(new RegExp(`${loud} +│ Error: broken`));
    await server.waitForLine(new RegExp(`${loud} +pid \\d+ exited with code 1`), 5);
    await server.becomes(loud, 'FAILED');
    await server.waitForLine(new RegExp(`${loud} +failed after .* Its last process exited with code 1\\.`));
    expect(project.lines('notes.txt')).toHaveLength(5);
    const silent = await server.start('quotes', 'silent');
    await server.waitForLine(new RegExp(`${silent} +pid \\d+ exited before the run suspended or ended`), 5);
    await server.becomes(silent, 'FAILED');
  });

  it('keeps its run for as long as it works, and is killed at its time limit', async () => {
    const { project, server } = serverFor(`note('runs', version); await sleep(event.input); await finish(state);`, {
      timing: { leaseMs: 1_200, invocationTimeoutMs: 5_000, crashBackoffMs: 50 },
    });
    await server.ready();
    const slow = await server.start('quotes', 3_000);
    const began = Date.now();
    const leaseEnds = async () => Date.parse(Object((await server.callApi(`/api/runs/${slow}`)).lease).until);
    await until('a renewed lease', async () => (await leaseEnds()) > began + 2_500);
    await server.becomes(slow, 'SUCCEEDED');
    expect(project.lines('notes.txt')).toEqual(['runs 2']);
    const endless = await server.start('quotes', 600_000);
    await server.waitForLine(
      new RegExp(`${endless} +pid \\d+ exceeded the time limit of an invocation and was killed`),
    );
    await until('a second process', () => project.lines('notes.txt').length === 3);
  });

  it('resumes at once when the server was killed in the middle, and its late writes are refused', async () => {
    const { project, server } = serverFor(`
      note('runs', process.pid, version);
      if (version > 2) await finish('second');
      else {
        await post('checkpoints', { state: 'kept', step: 'one' }, version);
        await sleep(600_000);
      }
    `);
    await server.ready();
    const run = await server.start('quotes');
    await until('the first step', async () => (await server.callApi(`/api/runs/${run}`)).version === 3);
    await server.kill();
    const [, pid] = project.lines('notes.txt')[0]?.split(' ') ?? [];
    await until('the process is gone', () => !isAlive(Number(pid)));
    const next = serverOf(project, [], { commands: [command(project)] });
    await next.ready();
    await next.waitForLine(new RegExp(`${run} +resumes after an interruption`));
    expect(await next.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 'second' });
    expect(project.lines('notes.txt').map((line) => line.split(' ')[2])).toEqual(['2', '4']);
  });

  it('notifies approvers if it says that it does, and again if that fails', async () => {
    const { project, server } = serverFor(ASKS, {}, `[{ name: 'quotes', notifies: true }]`);
    await server.ready();
    const run = await server.start('quotes', { item: 'desk' });
    const link = await server.link(run);
    await until('a mail', () => project.lines('notes.txt').includes(`notify requested ${link}`));
    const text = program(ASKS).replace("note('notify'", "process.exit(3) || note('notify'");
    project.write('agent.mjs', text);
    const failing = await server.start('quotes', { item: 'lamp' });
    await server.waitForLine(
      new RegExp(
        `${failing} +The notify hook failed for approval "buy" and will be retried\\. .* exited with code 3\\.`,
      ),
    );
    await server.link(failing);
  });

  it('yields to a new process', async () => {
    const { project, server } = serverFor(`
      note('runs', version);
      if (version < 8) await post('checkpoints', { state: version, status: 'READY' }, version);
      else await finish(state);
    `);
    await server.ready();
    const run = await server.start('quotes');
    expect(await server.becomes(run, 'SUCCEEDED')).toMatchObject({ result: 6 });
    expect(project.lines('notes.txt')).toEqual(['runs 2', 'runs 4', 'runs 6', 'runs 8']);
  });

  it('finishes a run that was cancelled while it worked', async () => {
    const { project, server } = serverFor(
      `
      note('runs', event.checkpoint.status, version);
      if (event.checkpoint.status === 'ENDING') await post('finish', { status: 'FAILED', error: {} }, version);
      else {
        while (!existsSync('cancelled')) await sleep(50);
        await finish('too late');
      }
    `,
      { timing: { crashBackoffMs: 20 } },
    );
    await server.ready();
    const run = await server.start('quotes');
    await until('a process', () => project.lines('notes.txt').length === 1);
    await server.callApi(`/api/runs/${run}/cancel`, {});
    project.write('cancelled', '');
    await server.becomes(run, 'CANCELLED');
    expect(project.lines('notes.txt')).toEqual(['runs RUNNING 2', 'runs ENDING 4']);
  });
});

const python = pages
  .filter(({ path }) => path === 'docs/guides/other-languages.md')
  .flatMap((page) => codeBlocks(page))
  .find(({ language, code }) => language === 'python' && code.includes('sys.stdin'));

describe.runIf(spawnSync('python3', ['--version']).status === 0)('the Python program in the docs', () => {
  it('resumes after it was killed, after a restart of the server, and after the decision', async () => {
    const crash =
      'if not os.path.exists("killed"):\n        open("killed", "w").close()\n        os.kill(os.getpid(), 9)\n    ';
    const code = python?.code.replace('return {"item"', `${crash}return {"item"`) ?? '';
    const project = projectOf({ 'agent.py': code });
    const options = { commands: [`python3 "${project.file('agent.py')}"`], timing: { crashBackoffMs: 20 } };
    const first = serverOf(project, [], options);
    await first.ready();
    const run = await first.start('quotes', { item: 'chair' });
    await first.waitForLine(new RegExp(`${run} +pid \\d+ .*(SIGKILL|code 137)`));
    await first.waitForLine(new RegExp(`${run} +asks user:ann: Buy for 12\\?`));
    const link = new URL(await first.link(run)).pathname;
    await first.kill();
    const second = serverOf(project, [], options);
    await second.ready();
    await fetch(second.url + link, { method: 'POST', body: new URLSearchParams({ answer: 'approve' }) });
    expect(await second.becomes(run, 'SUCCEEDED')).toMatchObject({ result: { bought: true, price: 12 } });
  });
});
