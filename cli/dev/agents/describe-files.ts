import type { AgentProcesses } from '../processes/agent-processes.ts';
import type { DescribedFile } from '../processes/messages.ts';
import type { ProcessExit } from '../processes/supervise.ts';

export interface DescribeFilesOptions {
  readonly processes: AgentProcesses;
  /** How long a file may take to load. */
  readonly loadTimeoutMs: number;
  /** Called with each line that a file prints while it loads. */
  onOutput(file: string, line: string): void;
}

/** Describes files in another process. If a file ends that process, it is reported, and the others get a new process. */
export async function describeFiles(
  files: readonly string[],
  { processes, loadTimeoutMs, onOutput }: DescribeFilesOptions,
): Promise<readonly DescribedFile[]> {
  const described = new Map<string, DescribedFile>();
  while (!processes.isClosed) {
    const [first, ...others] = files.filter((file) => !described.has(file));
    if (first === undefined) break;
    let loading = first;
    const { exited } = processes.start({
      program: 'describe',
      args: [first, ...others],
      heartbeatTimeoutMs: loadTimeoutMs,
      timeoutMs: loadTimeoutMs * (1 + others.length),
      onMessage(message) {
        if (message.waitstate === 'loading') loading = message.file;
        if (message.waitstate === 'described') described.set(message.described.file, message.described);
      },
      onOutput: (line) => onOutput(loading, line),
    });
    const exit = await exited;
    if (processes.isClosed) break;
    const isComplete = files.every((file) => described.has(file));
    if (!isComplete && !described.has(loading)) described.set(loading, unloadableFile(loading, exit));
  }
  return [...described.values()];
}

function unloadableFile(file: string, { code, signal, killedFor }: ProcessExit): DescribedFile {
  const problem = killedFor ? 'does not finish' : `ends the process (${signal ?? `exit code ${code}`})`;
  const message = `Loading the file ${problem}. Move its top-level code into its agents.`;
  return { file, agents: [], imports: [file], problem: { file, message } };
}
