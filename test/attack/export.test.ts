import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileSink } from '../../cli/commands/export/sink.ts';
import { freshFolder } from '../cli/scene.ts';

const SINK = new URL('../../cli/commands/export/sink.ts', import.meta.url).href;

describe.skipIf(process.platform === 'win32')('an export file', () => {
  it('never overwrites a file or follows a link that someone else created', async () => {
    const folder = freshFolder();
    const [precious, readable] = [join(folder, 'precious'), join(folder, 'b.jsonl.partial')];
    for (const file of [precious, readable]) writeFileSync(file, 'theirs');
    symlinkSync(precious, join(folder, 'a.jsonl.partial'));
    chmodSync(readable, 0o666);
    for (const name of ['a.jsonl', 'b.jsonl']) {
      const sink = await fileSink(join(folder, name));
      await sink.write('{"secret":1}\n');
      await sink.end();
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }
    expect([precious, readable].map((file) => readFileSync(file, 'utf8'))).toEqual(['theirs', 'theirs']);
  });

  it('is complete or absent, even if the disk has room for only a part of its last line', () => {
    const folder = freshFolder();
    const script = `
      const { fileSink } = await import(${JSON.stringify(SINK)});
      process.on('SIGXFSZ', () => {});
      const sink = await fileSink(${JSON.stringify(join(folder, 'c.jsonl'))});
      try {
        for (const text of ['a', 'b']) await sink.write(text.repeat(900) + '\\n');
        await sink.end();
        console.log('written');
      } catch {
        await sink.abandon();
        console.log('refused');
      }`;
    const node = `'${process.execPath}' --input-type=module -e "$SCRIPT"`;
    // The compile cache would also be limited to one block.
    const env = { ...process.env, NODE_COMPILE_CACHE: undefined, SCRIPT: script };
    // One block: 1,024 bytes.
    expect(execFileSync('bash', ['-c', `ulimit -f 1; ${node}`], { env }).toString()).toBe('refused\n');
    expect(readdirSync(folder)).toEqual([]);
  });
});
