import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../../cli/dev/server/listen.ts';
import { type LocalServer, serve } from '../../../cli/dev/server/serve.ts';
import { findRunningServer } from '../../../cli/dev/server/server-file.ts';
import { isAlive, type Project, projectOf, serverOf, until } from './scene.ts';

const FILE = '.waitstate/server.json';

/** Serves the folder of a project in this process, until the test is finished. */
async function serveHere(project: Project, port?: number): Promise<LocalServer> {
  const server = await serve({ files: [], folder: project.file('.waitstate'), port, print: () => {} });
  onTestFinished(() => server.stop());
  await server.ready;
  return server;
}

describe('the folder of the local server', () => {
  it('contains the key, readable by its owner only, and the URL while the server runs', async () => {
    const project = projectOf();
    const server = await serveHere(project);
    expect(statSync(project.file(FILE)).mode & 0o777).toBe(0o600);
    expect(statSync(project.file('.waitstate')).mode & 0o777).toBe(0o700);
    expect(readFileSync(project.file('.waitstate/.gitignore'), 'utf8')).toBe('*\n');
    const { key, url } = server;
    const port = Number(new URL(url).port);
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(await findRunningServer(project.file('.waitstate'))).toEqual({ key, url, port, pid: process.pid });
    await server.stop();
    expect(await findRunningServer(project.file('.waitstate'))).toBeUndefined();
    expect(JSON.parse(readFileSync(project.file(FILE), 'utf8'))).toEqual({ key, port });
  });

  it('is not considered in use if another process has the id of a killed server', async () => {
    const project = projectOf();
    const server = serverOf(project, []);
    await server.ready();
    await server.kill('SIGKILL');
    const file = JSON.parse(readFileSync(project.file(FILE), 'utf8'));
    writeFileSync(project.file(FILE), JSON.stringify({ ...file, pid: process.pid }));
    expect(await findRunningServer(project.file('.waitstate'))).toBeUndefined();
  });

  it('keeps key and port for the next server, even after a kill', async () => {
    const project = projectOf();
    const first = serverOf(project, [], { port: 0 });
    await first.ready();
    const { url, key } = first;
    await first.kill('SIGKILL');
    expect(await findRunningServer(project.file('.waitstate'))).toBeUndefined();
    const second = await serveHere(project);
    expect({ url: second.url, key: second.key }).toEqual({ url, key });
  });

  it('gets a new key if other users could have read the old one, or if it is invalid', async () => {
    const project = projectOf();
    let { key } = await startAndStop();
    chmodSync(project.file(FILE), 0o644);
    for (const spoil of [
      () => {},
      () => writeFileSync(project.file(FILE), '{"key":"short"}'),
      () => writeFileSync(project.file(FILE), 'no JSON'),
    ]) {
      spoil();
      const next = await startAndStop();
      expect(next.key).toMatch(/^[\w-]{43}$/);
      expect(next.key).not.toBe(key);
      expect(statSync(project.file(FILE)).mode & 0o777).toBe(0o600);
      key = next.key;
    }

    async function startAndStop(): Promise<{ readonly key: string }> {
      const server = await serveHere(project);
      await server.stop();
      return server;
    }
  });

  it('allows only one server: a second one names the first and changes nothing', async () => {
    const project = projectOf();
    const first = serverOf(project, []);
    await first.ready();
    const second = await serveHere(project).catch(String);
    expect(second).toContain(`at ${first.url} (pid ${first.child.pid})`);
    expect(second).toContain('--folder');
    expect(second).not.toContain(first.key);
    expect(await findRunningServer(project.file('.waitstate'))).toMatchObject({ url: first.url, pid: first.child.pid });
    // Once the first server is gone, the folder is free, even after a kill.
    await first.kill('SIGKILL');
    await serveHere(project);
  });

  it('allows one of several servers that start at the same time', async () => {
    const project = projectOf();
    const servers = Array.from({ length: 4 }, () => serverOf(project, []));
    const hasExited = (each: (typeof servers)[number]) => each.child.exitCode !== null;
    await until('all but one gave up', () => servers.filter(hasExited).length === 3);
    const [winner] = servers.filter((each) => !hasExited(each));
    await winner?.ready();
    expect(isAlive(winner?.child.pid ?? 0)).toBe(true);
  });

  it('is rejected with a clear message if it is not writable', async () => {
    const project = projectOf({ '.waitstate': 'a file' });
    await expect(serveHere(project)).rejects.toThrow('must be a folder that this process can write to');
  });
});

describe('the port of the local server', () => {
  it('is the next free port, unless --port names one that is in use', async () => {
    const busy = createServer();
    onTestFinished(() => void busy.close());
    const taken = await listen(busy, 0, undefined);
    await expect(serveHere(projectOf(), taken)).rejects.toThrow(`Port ${taken} is in use by another program.`);

    const other = createServer();
    onTestFinished(() => void other.close());
    const next = await listen(other, undefined, taken);
    expect(next).not.toBe(taken);
    expect(next).toBeGreaterThan(0);
    expect(other.address()).toMatchObject({ address: '127.0.0.1' });
  });
});
