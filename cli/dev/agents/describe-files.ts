import type { ProcessExit } from '../processes/agent-process.ts';
import type { AgentProcesses } from '../processes/agent-processes.ts';
import type { DescribedFile } from '../processes/messages.ts';

export interface DescribeFilesOptions {
  readonly processes: AgentProcesses;
  /** How long a file may take to load. */
  readonly loadTimeoutMs: number;
  /** Hears what files print when they are loaded. */
  onOutput(file: string, line: string): void;
}

/** Has files describe themselves in another process; one that takes it down is told, and the others get a new one. */
export async function describeFiles(
  files: readonly string[],
  { processes, loadTimeoutMs: patienceMs, onOutput: print }: DescribeFilesOptions,
): Promise<readonly DescribedFile[]> {
  const described = new Map<string, DescribedFile>();
  while (!processes.isClosed) {
    const [first, ...others] = files.filter((file) => !described.has(file));
    if (first === undefined) break;
    let loading = first;
    const { exited: over } = processes.start({
      program: 'describe',
      args: [first, ...others],
      heartbeatTimeoutMs: patienceMs,
      timeoutMs: patienceMs * (1 + others.length),
      onMessage(told) {
        if (told.tell === 'loading') loading = told.file;
        if (told.tell === 'described') described.set(told.described.file, told.described);
      },
      onOutput: (line) => print(loading, line),
    });
    const end = await over;
    if (processes.isClosed) break;
    const isWhole = files.every((file) => described.has(file));
    if (!isWhole && !described.has(loading)) described.set(loading, unloadable(loading, end));
  }
  return [...described.values()];
}

function unloadable(file: string, { code, signal, killedFor: ended }: ProcessExit): DescribedFile {
  const how = ended ? 'does not come to an end' : `ends the process (${signal ?? `exit code ${code}`})`;
  const message = `Loading it ${how}. Move what it does at the top into its agents.`;
  return { file, agents: [], imports: [file], problem: { file, message } };
}
