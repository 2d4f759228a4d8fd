import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasPython, PYTHON_FOLDER, pythonEnvironment } from '../python/python.ts';
import { runProcess } from './process.ts';

const LIMIT_MS = 300_000;

describe('waitstate conformance', () => {
  it('passes with the client and the server of this package', { timeout: LIMIT_MS }, async () => {
    const { code, out } = await runProcess(['conformance']);
    expect([code, out]).toEqual([0, expect.stringContaining('All 16 checks passed.')]);
  });

  it.runIf(hasPython())('passes with the Python client', { timeout: LIMIT_MS }, async () => {
    const command = `python3 "${join(PYTHON_FOLDER, 'tests/conformance_agent.py')}"`;
    const { code, out } = await runProcess(['conformance', '--exec', command], { env: pythonEnvironment() });
    expect([code, out]).toEqual([0, expect.stringContaining('All 11 checks passed.')]);
  });

  it('finds what a client does wrong, and shows the log of the server', { timeout: LIMIT_MS }, async () => {
    const program = `
      const { stdin, env } = process; let text = ''; for await (const piece of stdin) text += piece;
      const event = JSON.parse(text);
      if (event.describe) console.log(JSON.stringify({ waitstate: 1, agents: [{ name: 'conformance' }] }));
      else await fetch(env.WAITSTATE_URL + '/api/runs/' + event.run + '/finish', {
        method: 'POST', body: JSON.stringify({ status: 'SUCCEEDED', result: 'lazy' }),
        headers: { authorization: 'Bearer ' + env.WAITSTATE_KEY, 'content-type': 'application/json', 'if-match': '"2"' },
      });`;
    const command = `"${process.execPath}" --input-type=module -e '${program.replaceAll("'", "'\\''")}'`;
    const { code, out } = await runProcess(['conformance', '--exec', command]);
    expect(code).toBe(1);
    expect(out).toMatch(
      /✗ client records steps.*\n {2}The result: expected \[1,.*; found "lazy"\n {2}│ .*starts: conformance/,
    );
  });
});
