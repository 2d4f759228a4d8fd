import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { KnownAgent } from '../../../lambda/http/app-options.ts';
import type { DescribedAgent, DescribedFile } from '../processes/messages.ts';
import type { LoadProblem } from './load-problem.ts';

/** An agent and where it is. */
interface AgentInFile extends DescribedAgent {
  readonly file: string;
  /** Why its file cannot be used at present. */
  readonly problem?: LoadProblem;
}

/** The files of agents, and the agents in them. */
export interface AgentFiles {
  readonly files: readonly string[];
  /** Takes what is known of a file now; gives what is wrong with it. */
  update(described: DescribedFile): readonly LoadProblem[];
  /** Whether nothing is known to be wrong with a file. */
  isLoadable(file: string): boolean;
  find(agent: string): AgentInFile | undefined;
  agents(): readonly AgentInFile[];
  /** As the console offers them. */
  agentSummaries(): readonly KnownAgent[];
  /** The files whose change changes one of them. */
  watchedFiles(): ReadonlySet<string>;
  /** The files of agents that stand on one of these. */
  affectedBy(changed: ReadonlySet<string>): readonly string[];
}

/** What is known of files of agents. An agent of a file that no longer loads is remembered: it may load again soon. */
export function createAgentFiles(): AgentFiles {
  const described = new Map<string, DescribedFile>();
  const found = new Map<string, AgentInFile>();

  /** The agents of all files; of two with one name, the one that was there first counts. */
  const collect = (): readonly LoadProblem[] => {
    const before = new Map(found);
    found.clear();
    const problems: LoadProblem[] = [];
    const inOrder = [...described.values()].toSorted((a, b) => collisionRank(a, before) - collisionRank(b, before));
    for (const { file, agents, problem } of inOrder) {
      for (const agent of agents) {
        const other = found.get(agent.name);
        if (other) problems.push(duplicateName(agent.name, file, other.file));
        else found.set(agent.name, { ...agent, file, ...omitUndefined({ problem }) });
      }
    }
    return problems;
  };
  return {
    get files() {
      return [...described.keys()];
    },
    update(next) {
      const { file, problem } = next;
      const { agents = [] } = described.get(file) ?? {};
      described.set(file, problem ? { ...next, agents } : next);
      const duplicates = collect().filter((each) => each.file === file);
      return problem ? [problem] : duplicates;
    },
    isLoadable: (file) => described.get(file)?.problem === undefined,
    find: (agent) => found.get(agent),
    agents: () => [...found.values()],
    agentSummaries: () =>
      [...found.values()].map(({ name, file }) => {
        const { example, description } = described.get(file) ?? {};
        return { name, ...omitUndefined({ example, description }) };
      }),
    watchedFiles: () => new Set([...described.values()].flatMap(({ imports, file }) => [file, ...imports])),
    affectedBy: (changed) =>
      [...described.values()]
        .filter(({ file, imports }) => [file, ...imports].some((each) => changed.has(each)))
        .map(({ file }) => file),
  };
}

/** Files that have agents already go before those that want them too. */
const collisionRank = ({ file }: DescribedFile, before: ReadonlyMap<string, AgentInFile>): number =>
  [...before.values()].some((agent) => agent.file === file) ? 0 : 1;

const duplicateName = (name: string, file: string, other: string): LoadProblem => ({
  file,
  message: `Its agent "${name}" is not used: ${other} has one of that name already.`,
  advice: 'Rename one of them.',
});
