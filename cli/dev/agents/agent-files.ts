import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { KnownAgent } from '../../../lambda/http/app-options.ts';
import type { DescribedAgent, DescribedFile } from '../processes/messages.ts';
import type { LoadProblem } from './load-problem.ts';

/** An agent, and the file that defines it. */
interface AgentInFile extends DescribedAgent {
  readonly file: string;
  /** Why its file does not load. */
  readonly problem?: LoadProblem;
}

/** The agent files, and the agents that they define. */
export interface AgentFiles {
  readonly files: readonly string[];
  /** Records the current description of a file, and returns its problems. */
  update(described: DescribedFile): readonly LoadProblem[];
  /** Whether a file has no known problem. */
  isLoadable(file: string): boolean;
  find(agent: string): AgentInFile | undefined;
  agents(): readonly AgentInFile[];
  /** The agents as the console lists them. */
  agentSummaries(): readonly KnownAgent[];
  /** All agent files and the files that they import. */
  watchedFiles(): ReadonlySet<string>;
  /** The agent files that import one of these files. */
  affectedBy(changed: ReadonlySet<string>): readonly string[];
}

/** Keeps track of agent files. Remembers the agents of a file that no longer loads, because it may load again soon. */
export function createAgentFiles(): AgentFiles {
  const described = new Map<string, DescribedFile>();
  const found = new Map<string, AgentInFile>();

  /** Collects the agents of all files. If two have the same name, the first one wins. */
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
      return problem ? [problem] : [...duplicates, ...next.agents.flatMap((agent) => invalidExample(file, agent))];
    },
    isLoadable: (file) => described.get(file)?.problem === undefined,
    find: (agent) => found.get(agent),
    agents: () => [...found.values()],
    agentSummaries: () =>
      [...found.values()].map(({ name, example, description }) => ({
        name,
        ...omitUndefined({ example, description }),
      })),
    watchedFiles: () => new Set([...described.values()].flatMap(({ imports, file }) => [file, ...imports])),
    affectedBy: (changed) =>
      [...described.values()]
        .filter(({ file, imports }) => [file, ...imports].some((each) => changed.has(each)))
        .map(({ file }) => file),
  };
}

/** Files that already define agents come before new ones. */
const collisionRank = ({ file }: DescribedFile, before: ReadonlyMap<string, AgentInFile>): number =>
  [...before.values()].some((agent) => agent.file === file) ? 0 : 1;

const invalidExample = (file: string, { name, exampleProblem }: DescribedAgent): readonly LoadProblem[] =>
  exampleProblem === undefined
    ? []
    : [{ file, message: `The \`example\` of agent "${name}" is ignored. ${exampleProblem}` }];

const duplicateName = (name: string, file: string, other: string): LoadProblem => ({
  file,
  message: `Agent "${name}" is ignored, because ${other} already defines an agent with this name.`,
  advice: 'Rename one of them.',
});
