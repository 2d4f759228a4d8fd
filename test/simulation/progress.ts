const WIDTH = 40;

/** Shows how far so many things are: a bar on a terminal, a line now and then elsewhere. */
export function progressOf(count: number): { done(so: number): void; end(): void } {
  const { stdout } = process;
  const began = Date.now();
  let shown = 0;
  const seconds = () => `${Math.round((Date.now() - began) / 1000)} s`;
  return {
    done(so) {
      const part = stdout.isTTY ? 400 : 10;
      const step = Math.floor((so * part) / count);
      if (step === shown) return;
      shown = step;
      const full = Math.floor((so * WIDTH) / count);
      if (stdout.isTTY)
        stdout.write(`\r[${'█'.repeat(full)}${'·'.repeat(WIDTH - full)}] ${so}/${count} seeds, ${seconds()} `);
      else console.log(`${so} of ${count} seeds, ${seconds()}`);
    },
    end() {
      if (stdout.isTTY) stdout.write('\r\x1b[K');
    },
  };
}
