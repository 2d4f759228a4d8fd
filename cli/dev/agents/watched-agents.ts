import { basename } from 'node:path';
import { styled } from '../../terminal/line.ts';
import { type DevLog, shortPath } from '../log/dev-log.ts';
import type { AgentProcesses } from '../processes/agent-processes.ts';
import { type AgentFiles, createAgentFiles } from './agent-files.ts';
import { describeFiles } from './describe-files.ts';
import { watchFiles } from './watch-files.ts';

/** Agent files that are reloaded when they change. */
export interface WatchedAgents {
  readonly files: AgentFiles;
  /** Loads the files; with `watch`, reloads them when they change. */
  load(given: readonly string[], options: { readonly watch: boolean }): Promise<void>;
  close(): void;
}

export interface WatchedAgentsOptions {
  readonly processes: AgentProcesses;
  readonly log: DevLog;
  readonly loadTimeoutMs: number;
  /** Called when agents were reloaded. */
  onChange(): void;
}

const isPackageJson = (file: string): boolean => basename(file) === 'package.json';

export function createWatchedAgents({ processes, log, loadTimeoutMs, onChange }: WatchedAgentsOptions): WatchedAgents {
  const files = createAgentFiles();
  const print = (file: string, line: string) => log.server(`${shortPath(file)}: ${line}`);
  const describe = (which: readonly string[]) => describeFiles(which, { processes, loadTimeoutMs, onOutput: print });
  const watched = watchFiles(
    (different) => {
      // One after the other, so that the last description is the current one.
      reloading = reloading
        .then(() => reload(files.affectedBy(different), [...different].every(isPackageJson)))
        .catch((error) => log.server(styled('red', String(error))));
    },
    (folder) => log.server(styled('yellow', `Cannot watch ${shortPath(folder)}. Restart the server after a change.`)),
  );

  let reloading = Promise.resolve();

  /** Reloads files. If only a package.json changed, logs only files that did not load before. */
  async function reload(affected: readonly string[], isPackageAlone: boolean): Promise<void> {
    for (const described of await describe(affected)) {
      const wasLoadable = files.isLoadable(described.file);
      const problems = files.update(described);
      for (const problem of problems) log.problem(problem);
      const names = described.agents.map(({ name }) => name).join(', ');
      if (described.problem || (isPackageAlone && wasLoadable)) continue;
      log.server(`Reloaded ${shortPath(described.file)}: `, styled('bold', names));
    }
    if (processes.isClosed) return;
    watched.watch(files.watchedFiles());
    onChange();
  }

  return {
    files,
    async load(given, { watch }) {
      // Watch before loading, so that no change is missed.
      if (watch) watched.watch(new Set(given));
      for (const described of await describe(given))
        for (const problem of files.update(described)) log.problem(problem);
      for (const { name, encryptsRuns } of files.agents())
        if (encryptsRuns)
          log.server(
            styled(
              'yellow',
              `Runs of "${name}" that you start here are not encrypted, because only the agent has its keys.`,
            ),
          );
      if (watch && !processes.isClosed) watched.watch(files.watchedFiles());
    },
    close: () => watched.close(),
  };
}
