import { omitUndefined } from '../../../lambda/core/omit-undefined.ts';
import type { KnownAgent } from '../../../lambda/http/app-options.ts';
import { bold, styled } from '../../terminal/line.ts';
import type { DevLog } from '../log/dev-log.ts';
import { describeCrash } from '../log/run-report.ts';
import type { AgentProcesses } from '../processes/agent-processes.ts';

/** An agent of a command. */
interface CommandAgent extends KnownAgent {
  /** Whether the command notifies the approvers of the agent. */
  readonly notifies: boolean;
}

/** A command that executes runs of agents in another language. */
interface AgentCommand {
  readonly command: string;
  /** Its agents; undefined if it does not describe them, so that it runs every agent that nothing else runs. */
  readonly agents: readonly CommandAgent[] | undefined;
}

/** The commands of a server. */
export interface AgentCommands {
  /** Asks each command which agents it runs. */
  describeAll(): Promise<void>;
  /** The command that runs an agent, and what is known about the agent. */
  find(agent: string): { readonly command: string; readonly notifies: boolean } | undefined;
  /** The agents that the commands described. */
  agents(): readonly KnownAgent[];
  /** Whether a command runs agents of any name. */
  readonly runsAny: boolean;
}

export interface AgentCommandsOptions {
  readonly commands: readonly string[];
  readonly processes: AgentProcesses;
  readonly log: DevLog;
  readonly loadTimeoutMs: number;
  /** Whether workers run an agent, so that a command that runs any agent does not. */
  hasWorkers(agent: string): boolean;
}

/** Keeps track of commands and their agents. If two commands have an agent of one name, the first one runs it. */
export function createAgentCommands(options: AgentCommandsOptions): AgentCommands {
  const { commands, log, hasWorkers } = options;
  let described: readonly AgentCommand[] = commands.map((command) => ({ command, agents: [] }));
  const others = () => described.find(({ agents }) => agents === undefined);
  return {
    async describeAll() {
      described = await Promise.all(commands.map((command) => describeCommand(options, command)));
      const seen = new Map<string, string>();
      for (const { command, agents = [] } of described)
        for (const { name } of agents) {
          const other = seen.get(name);
          if (other !== undefined)
            log.server(styled('yellow', `Agent "${name}" of "${command}" is ignored, because "${other}" runs it.`));
          else seen.set(name, command);
        }
    },
    find(name) {
      for (const { command, agents = [] } of described) {
        const found = agents.find((agent) => agent.name === name);
        if (found) return { command, notifies: found.notifies };
      }
      const other = hasWorkers(name) ? undefined : others();
      return other && { command: other.command, notifies: false };
    },
    agents: () =>
      described.flatMap(({ agents = [] }) =>
        agents.map(({ name, description, example }) => ({ name, ...omitUndefined({ description, example }) })),
      ),
    get runsAny() {
      return others() !== undefined;
    },
  };
}

const DESCRIBE_REQUEST = { waitstate: 1, describe: true };

/** Starts the command with a request to describe its agents, which it prints as one line of JSON. */
async function describeCommand(
  { processes, log, loadTimeoutMs }: AgentCommandsOptions,
  command: string,
): Promise<AgentCommand> {
  const lines: string[] = [];
  const { exited } = processes.startCommand({
    command,
    input: DESCRIBE_REQUEST,
    timeoutMs: loadTimeoutMs,
    onOutput: (line) => void lines.push(line),
  });
  const exit = await exited;
  const agents = lines.map(parseDescription).findLast((found) => found !== undefined);
  if (agents || processes.isClosed) return { command, agents: agents ?? [] };
  const ended = exit.code === 0 ? 'described no agents' : describeCrash(exit, loadTimeoutMs);
  log.server(
    styled(
      'yellow',
      `"${command}" ${ended} when asked for its agents, so it runs every agent that no file, other command or worker runs.`,
    ),
  );
  for (const line of lines.slice(-MAX_LINES_SHOWN)) log.detail(bold('│ '), line);
  return { command, agents: undefined };
}

const MAX_LINES_SHOWN = 10;

/** The agents in a line of output such as `{"waitstate":1,"agents":[{"name":"quotes"}]}`. */
function parseDescription(line: string): readonly CommandAgent[] | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const { waitstate, agents } = Object(JSON.parse(line)) as { waitstate?: unknown; agents?: unknown };
    return waitstate === 1 && Array.isArray(agents) && agents.every(isNamed) ? agents.map(toCommandAgent) : undefined;
  } catch {
    return undefined;
  }
}

const isNamed = (agent: unknown): boolean => {
  const { name } = Object(agent) as { name?: unknown };
  return typeof name === 'string' && name !== '' && name.length <= 256;
};

function toCommandAgent(agent: unknown): CommandAgent {
  const { name, description, example, notifies } = agent as Readonly<Record<string, unknown>>;
  return {
    name: String(name),
    notifies: notifies === true,
    ...(typeof description === 'string' && { description }),
    ...omitUndefined({ example }),
  };
}
