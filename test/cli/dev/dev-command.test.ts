import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLines } from '../../../cli/dev/processes/read-lines.ts';
import { findRunningServer } from '../../../cli/dev/server/server-file.ts';
import { isAlive, type Project, projectOf, until } from './scene.ts';

const MAIN = fileURLToPath(new URL('../../../cli/main.ts', import.meta.url));

const agents = (count: number): string => `
  import { agent } from 'waitstate';
  ${Array.from({ length: count }, (_, i) => `export const a${i} = agent({ name: 'agent-${i}', run: async () => ${i} });`).join('\n')}
  export const description = 'Does little.';
  export const example = { what: "it's little" };
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
  readonly over: Promise<unknown>;
}

/** `waitstate dev` in a group of its own, as a shell starts it. */
function dev(project: Project, ...args: readonly string[]): Dev {
  const { FORCE_COLOR: _, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, 'dev', ...args], { cwd: project.path, env, detached: true });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) readLines(stream, (line) => lines.push(line));
  const over = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await over;
  });
  return { child, lines, over };
}

const says = (of: Dev, text: string) =>
  until(
    () => `"${text}" in\n${of.lines.join('\n')}`,
    () => of.lines.find((line) => line.includes(text)),
  );

async function start(project: Project, agent: string): Promise<string> {
  const { url = '', key } = (await findRunningServer(project.file('.waitstate'))) ?? {};
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/api/runs`, { method: 'POST', headers, body: JSON.stringify({ agent }) });
  return ((await answer.json()) as { run: string }).run;
}

/** What Ctrl-C does: the signal reaches the whole group. */
const interrupt = ({ child }: Dev) => process.kill(-(child.pid ?? 0), 'SIGINT');

describe('waitstate dev', () => {
  it('says in a dozen lines what to click and what to try, and that works', async () => {
    const project = projectOf({ 'agents.ts': agents(9) });
    const server = dev(project, 'agents.ts');
    await says(server, 'curl');
    const { url, key } = (await findRunningServer(project.file('.waitstate'))) ?? {};
    await until('all is said', () => server.lines.at(-1) === '');
    expect(server.lines.length).toBeLessThanOrEqual(12);
    expect(server.lines[0]).toBe(`Waitstate  ${url}/?key=${key}`);
    expect(server.lines.filter((line) => /^ {2}agent-\d {2}Does little\.$/.test(line))).toHaveLength(4);
    expect(server.lines).toContain('  and 5 more');
    const command = server.lines
      .slice(server.lines.findIndex((line) => line.includes('curl')))
      .join('\n')
      .trim();
    const curl = spawn('sh', ['-c', `${command} --silent --show-error`]);
    const answer: string[] = [];
    readLines(curl.stdout, (line) => answer.push(line));
    await once(curl, 'close');
    const { run } = JSON.parse(answer.join('')) as { run: string };
    await says(server, `${run}  succeeded`);
    interrupt(server);
    await server.over;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.at(-1)).toBe('Stopped. Runs go on at the next start.');
  });

  it('lets what is under way finish when it is interrupted', async () => {
    const project = projectOf({ 'slow.ts': SLOW(700) });
    const server = dev(project, 'slow.ts');
    await says(server, 'curl');
    const run = await start(project, 'slow');
    await until('it runs', () => project.lines('pid.txt')[0]);
    interrupt(server);
    await server.over;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.join('\n')).toContain('Stopping; a run is under way.');
    expect(server.lines.join('\n')).toContain(`${run}  succeeded`);
    expect(server.lines.at(-1)).toBe('Stopped. Runs go on at the next start.');
  });

  it('ends at once when it is interrupted again', async () => {
    const project = projectOf({ 'slow.ts': SLOW(600_000) });
    const server = dev(project, 'slow.ts');
    await says(server, 'curl');
    await start(project, 'slow');
    const pid = Number(await until('it runs', () => project.lines('pid.txt')[0]));
    interrupt(server);
    await says(server, 'Stopping; a run is under way.');
    interrupt(server);
    await server.over;
    expect(server.child.exitCode).toBe(0);
    expect(server.lines.join('\n')).not.toContain('is cut off');
    await until('its process is gone', () => !isAlive(pid));
  });

  it('says who is there before it says what goes on', async () => {
    const project = projectOf({ 'slow.ts': SLOW(600_000) });
    const first = dev(project, 'slow.ts');
    await says(first, 'curl');
    await start(project, 'slow');
    await until('it runs', () => project.lines('pid.txt')[0]);
    first.child.kill('SIGKILL');
    await first.over;
    const second = dev(project, 'slow.ts');
    await says(second, 'goes on where it was cut off');
    const place = (text: string) => second.lines.findIndex((line) => line.includes(text));
    expect(place('curl')).toBeGreaterThan(0);
    expect(place('curl')).toBeLessThan(place('goes on where'));
  });

  it('says at its start what waits for people since before', async () => {
    const project = projectOf({
      'ask.ts': `
        import { agent } from 'waitstate';
        export const ask = agent({ name: 'ask', run: (ctx) => ctx.approval('go', { title: 'Go?', approvers: ['user:ann'] }) });
      `,
    });
    const first = dev(project, 'ask.ts');
    await says(first, 'curl');
    await start(project, 'ask');
    await says(first, 'asks user:ann');
    interrupt(first);
    await first.over;
    expect(await says(dev(project, 'ask.ts'), 'An approval waits')).toMatch(
      /for an answer: http:\/\/\S+\/console\/inbox$/,
    );
  });

  it('serves without agents, and says what it lacks', async () => {
    const server = dev(projectOf());
    await says(server, 'No agent is here');
    interrupt(server);
    await server.over;
    expect(server.child.exitCode).toBe(0);
  });

  it('that cannot use the files it was given says so, and not that it was given none', async () => {
    const server = dev(projectOf({ 'broken.ts': 'export const a = ;\n' }), 'broken.ts');
    expect(await says(server, 'No agent is here')).toContain('yet: mend the files above');
  });

  it('points to the server that works on the folder already', async () => {
    const project = projectOf();
    const first = dev(project);
    await says(first, 'No agent is here');
    const second = dev(project);
    await second.over;
    expect(second.child.exitCode).toBe(4);
    expect(second.lines.join(' ')).toMatch(/Another server works on the folder .*already: http:\/\/127\.0\.0\.1:\d+/);
  });
});
