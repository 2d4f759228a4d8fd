const WIDTH = 40;

/** Shows progress: a bar on a terminal, otherwise ten lines in all. */
export function createProgress(count: number): { update(done: number): void; end(): void } {
  const { stdout } = process;
  const startedAt = Date.now();
  let shown = 0;
  const seconds = () => `${Math.round((Date.now() - startedAt) / 1000)} s`;
  return {
    update(done) {
      const parts = stdout.isTTY ? 400 : 10;
      const step = Math.floor((done * parts) / count);
      if (step === shown) return;
      shown = step;
      const full = Math.floor((done * WIDTH) / count);
      if (stdout.isTTY)
        stdout.write(`\r[${'█'.repeat(full)}${'·'.repeat(WIDTH - full)}] ${done}/${count} seeds, ${seconds()} `);
      else console.log(`${done} of ${count} seeds, ${seconds()}`);
    },
    end() {
      if (stdout.isTTY) stdout.write('\r\x1b[K');
    },
  };
}
