import type { RunningServer } from '../../dev/server/server-file.ts';
import type { Session } from '../../session.ts';
import type { Target } from '../../target/target.ts';
import { dim, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { wrapLine } from '../../terminal/wrap-line.ts';

/**
 * Warns if no local server runs on the folder, so that a READY run would not start; on AWS, the table's stream delivers
 * it. Given an agent, also warns if the server does not have that agent.
 */
export async function warnIfNoServer(
  { terminal, isJson }: Session,
  { resolved }: Target,
  agent?: string,
): Promise<void> {
  if (isJson || resolved.kind !== 'folder') return;
  const { findRunningServer } = await import('../../dev/server/server-file.ts');
  const server = await findRunningServer(resolved.folder);
  if (!server) {
    const folder = resolved.folder === '.waitstate' ? '' : ` --folder ${shellQuote(resolved.folder)}`;
    terminal.printErr(
      dim(`No server is running on this folder. Start one with "waitstate dev${folder} AGENT-FILES" to run it.`),
    );
    return;
  }
  const agents = agent === undefined ? undefined : await fetchAgentNames(server);
  if (!agents || agents.includes(agent ?? '')) return;
  const known = agents.length === 0 ? 'no agents' : agents.join(', ');
  const text = `The server on this folder has no agent "${agent}" (it has ${known}). The run waits until a server has it.`;
  terminal.printErr(...wrapLine([styled('yellow', '! '), text], terminal.columns));
}

const TIMEOUT_MS = 2_000;

interface AgentsResponse {
  readonly agents?: readonly { readonly name: string }[];
  readonly startsAnyAgent?: boolean;
}

/** The names of the only agents that a server has; undefined if it runs any agent, or does not respond. */
async function fetchAgentNames({ url, key }: RunningServer): Promise<readonly string[] | undefined> {
  try {
    const response = await fetch(new URL('/api/agents', url), {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { agents, startsAnyAgent } = (await response.json()) as AgentsResponse;
    return startsAnyAgent ? undefined : agents?.map(({ name }) => name);
  } catch {
    // The warning is optional; the run was started.
    return undefined;
  }
}
