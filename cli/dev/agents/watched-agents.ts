import { basename } from 'node:path';
import { styled } from '../../terminal/line.ts';
import { type DevLog, shortPath } from '../log/dev-log.ts';
import type { AgentProcesses } from '../processes/agent-processes.ts';
import { type AgentFiles, createAgentFiles } from './agent-files.ts';
import { describeFiles } from './describe-files.ts';
import { watchFiles } from './watch-files.ts';

/** Files of agents that are looked at again when they change. */
export interface WatchedAgents {
  readonly files: AgentFiles;
  /** Gets to know them; with `watch`, again and again. */
  load(given: readonly string[], options: { readonly watch: boolean }): Promise<void>;
  close(): void;
}

export interface WatchedAgentsOptions {
  readonly processes: AgentProcesses;
  readonly log: DevLog;
  readonly loadTimeoutMs: number;
  /** Agents have other code now. */
  onChange(): void;
}

const isPackageJson = (file: string): boolean => basename(file) === 'package.json';

export function createWatchedAgents({ processes, log, loadTimeoutMs, onChange }: WatchedAgentsOptions): WatchedAgents {
  const files = createAgentFiles();
  const print = (file: string, line: string) => log.server(`${shortPath(file)}: ${line}`);
  const describe = (which: readonly string[]) => describeFiles(which, { processes, loadTimeoutMs, onOutput: print });
  const watched = watchFiles(
    (different) => {
      // One after the other, so that what is known last is what is there.
      reloading = reloading
        .then(() => reload(files.affectedBy(different), [...different].every(isPackageJson)))
        .catch((error) => log.server(styled('red', String(error))));
    },
    (folder) => log.server(styled('yellow', `Changes in ${shortPath(folder)} are not noticed; start again after one.`)),
  );

  let reloading = Promise.resolve();

  /** A package.json changes for many reasons: then only a file that did not load before is worth a line. */
  async function reload(affected: readonly string[], isPackageAlone: boolean): Promise<void> {
    for (const described of await describe(affected)) {
      const wasLoadable = files.isLoadable(described.file);
      const problems = files.update(described);
      for (const problem of problems) log.problem(problem);
      const names = described.agents.map(({ name }) => name).join(', ');
      if (described.problem || (isPackageAlone && wasLoadable)) continue;
      log.server(`${shortPath(described.file)} has changed: `, styled('bold', names));
    }
    if (processes.isClosed) return;
    watched.watch(files.watchedFiles());
    onChange();
  }

  return {
    files,
    async load(given, { watch }) {
      // Before they are read, so that no change is missed.
      if (watch) watched.watch(new Set(given));
      for (const described of await describe(given))
        for (const problem of files.update(described)) log.problem(problem);
      for (const { name, encryptsRuns } of files.agents())
        if (encryptsRuns)
          log.server(
            styled('yellow', `Runs of "${name}" that are started here are not encrypted: its keys are its own.`),
          );
      if (watch && !processes.isClosed) watched.watch(files.watchedFiles());
    },
    close: () => watched.close(),
  };
}
