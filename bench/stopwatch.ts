/** Starts a stopwatch; the returned function gives the elapsed time and the CPU time of this process. */
export function stopwatch(): () => { readonly seconds: number; readonly cpuMs: number } {
  const before = performance.now();
  const spent = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(spent);
    return { seconds: (performance.now() - before) / 1000, cpuMs: (user + system) / 1000 };
  };
}
