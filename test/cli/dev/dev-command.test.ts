import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLines } from '../../../cli/dev/processes/read-lines.ts';
import { findRunningServer } from '../../../cli/dev/server/server-file.ts';
import { MAIN } from '../process.ts';
import { isAlive, type Project, projectOf, until } from './scene.ts';

const agents = (count: number): string => `
  import { agent } from 'waitstate';
  const description = 'Does little.';
  const example = { what: "it's little" };
  ${Array.from({ length: count }, (_, i) => `export const a${i} = agent({ name: 'agent-${i}', description, example, run: async () => ${i} });`).join('\n')}
`;

const SLOW = (milliseconds: number): string => `
  import { appendFileSync } from 'node:fs';
  import { setTimeout } from 'node:timers/promises';
  import { agent } from 'waitstate';
  export const slow = agent({
    name: 'slow',
    run: (ctx) => ctx.step('wait', async () => {
      appendFileSync('pid.txt', process.pid + '\\n');
      await setTimeout(${milliseconds});
    }),
  });
`;

interface Dev {
  readonly child: ChildProcess;
  readonly lines: readonly string[];
  readonly exited: Promise<unknown>;
}

/** Starts `waitstate dev` in a new process group, as a shell does. */
function dev(project: Project, ...args: readonly string[]): Dev {
  const { FORCE_COLOR: _, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, 'dev', ...args], { cwd: project.path, env, detached: true });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) readLines(stream, (line) => lines.push(line));
  const exited = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return { child, lines, exited };
}

const printed = (of: Dev, text: string) =>
  until(
    () => `"${text}" in\n${of.lines.join('\n')}`,
    () => of.lines.find((line) => line.includes(text)),
  );

async function start(project: Project, agent: string): Promise<string> {
  const { url = '', key } = (await findRunningServer(project.file('.waitstate'))) ?? {};
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/runs`, { method: 'POST', headers, body: JSON.stringify({ agent }) });
  return ((await response.json()) as { run: string }).run;
}

/** Sends SIGINT to the whole process group, as Ctrl-C does. */
const interrupt = ({ child }: Dev) => process.kill(-(child.pid ?? 0), 'SIGINT');

describe('waitstate dev', () => {
  it('prints its URL, its agents and a curl command that works, in a dozen lines', async () => {
    const project = projectOf({ 'agents.ts': agents(9) });
    const server = dev(project, 'agents.ts');
    await printed(server, 'curl');
    const { url, key } = (await findRunningServer(project.file('.waitstate'))) ?? {};
    await until('the welcome is complete', () => server.lines.at(-1) === '');
    expect(server.lines.length).toBeLessThanOrEqual(12);
    expect(server.lines[0]).toBe(`Waitstate  ${url}/?key=${key}`);
    expect(server.lines.filter((line) => /^ {2}agent-\d {2}Does little\.$/.test(line))).toHaveLength(4);
    expect(server.lines).toContain('  and 5 more');
    const command = server.lines
      .slice(server.lines.findIndex((line) => line.includes('curl')))
      .join('\n')
      .trim();
    const curl = spawn('sh', ['-c', `${command} --silent --show-error`]);
    const output: string[] = [];
    readLines(curl.stdout, (line) => output.push(line));
    await once(curl, 'close');
    const { run } = JSON.parse(output.join('')) as { run: string };
    await printed(server, `${run}  succeeded`);
    interrupt(server);
    await server.exited;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.at(-1)).toBe('Stopped. Runs resume at the next start.');
  });

  it('lets running processes finish on Ctrl-C', async () => {
    const project = projectOf({ 'slow.ts': SLOW(700) });
    const server = dev(project, 'slow.ts');
    await printed(server, 'curl');
    const run = await start(project, 'slow');
    await until('it runs', () => project.lines('pid.txt')[0]);
    interrupt(server);
    await server.exited;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.join('\n')).toContain('Stopping; waiting for 1 run.');
    expect(server.lines.join('\n')).toContain(`${run}  succeeded`);
    expect(server.lines.at(-1)).toBe('Stopped. Runs resume at the next start.');
  });

  it('exits immediately on a second Ctrl-C', async () => {
    const project = projectOf({ 'slow.ts': SLOW(600_000) });
    const server = dev(project, 'slow.ts');
    await printed(server, 'curl');
    await start(project, 'slow');
    const pid = Number(await until('it runs', () => project.lines('pid.txt')[0]));
    interrupt(server);
    await printed(server, 'Stopping; waiting for 1 run.');
    interrupt(server);
    await server.exited;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.join('\n')).not.toContain('interrupted;');
    await until('its process is gone', () => !isAlive(pid));
  });

  it('prints its agents before it logs runs', async () => {
    const project = projectOf({ 'slow.ts': SLOW(600_000) });
    const first = dev(project, 'slow.ts');
    await printed(first, 'curl');
    await start(project, 'slow');
    await until('it runs', () => project.lines('pid.txt')[0]);
    first.child.kill('SIGKILL');
    await first.exited;
    const second = dev(project, 'slow.ts');
    await printed(second, 'resumes after an interruption');
    const lineOf = (text: string) => second.lines.findIndex((line) => line.includes(text));
    expect(lineOf('curl')).toBeGreaterThan(0);
    expect(lineOf('curl')).toBeLessThan(lineOf('resumes after'));
  });

  it('reports at its start the approvals that are pending', async () => {
    const project = projectOf({
      'ask.ts': `
        import { agent } from 'waitstate';
        export const ask = agent({ name: 'ask', run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }) });
      `,
    });
    const first = dev(project, 'ask.ts');
    await printed(first, 'curl');
    await start(project, 'ask');
    await printed(first, 'asks user:ann');
    interrupt(first);
    await first.exited;
    expect(await printed(dev(project, 'ask.ts'), '1 approval is pending')).toMatch(
      /pending: http:\/\/\S+\/console\/inbox$/,
    );
  });

  it('starts without agents, and says how to name them', async () => {
    const server = dev(projectOf());
    expect(await printed(server, 'No agents: name your agent files')).toContain('--exec "python agent.py"');
    interrupt(server);
    await server.exited;
    expect(server.child.exitCode).toBe(0);
  });

  it('reports that none of the named files loads', async () => {
    const server = dev(projectOf({ 'broken.ts': 'export const a = ;\n' }), 'broken.ts');
    expect(await printed(server, 'No agents loaded')).toContain('Fix the errors above');
  });

  it('names the server that is already running on the folder', async () => {
    const project = projectOf();
    const first = dev(project);
    await printed(first, 'No agents: name your agent files');
    const second = dev(project);
    await second.exited;
    expect(second.child.exitCode).toBe(4);
    expect(second.lines.join(' ')).toMatch(
      /Another server is already running on the folder .* at http:\/\/127\.0\.0\.1:\d+/,
    );
  });
});
