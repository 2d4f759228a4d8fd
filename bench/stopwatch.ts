/** Starts to measure; what it returns says how long that took so far, by the clock and by the CPU of this process. */
export function stopwatch(): () => { readonly seconds: number; readonly cpuMs: number } {
  const before = performance.now();
  const spent = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(spent);
    return { seconds: (performance.now() - before) / 1000, cpuMs: (user + system) / 1000 };
  };
}
