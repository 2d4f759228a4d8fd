import type { RunningServer } from '../../dev/server/server-file.ts';
import type { Session } from '../../session.ts';
import type { Target } from '../../target/target.ts';
import { dim, styled } from '../../terminal/line.ts';
import { shellQuote } from '../../terminal/shell-quote.ts';
import { wrapLine } from '../../terminal/wrap-line.ts';

/**
 * Says so where nobody runs what was made ready: the table's stream does on AWS, and a server on one machine. Given an
 * agent, also where that server does not have it.
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
    terminal.printErr(dim(`No server is running here; "waitstate dev${folder} AGENT-FILES" runs what is ready.`));
    return;
  }
  const agents = agent === undefined ? undefined : await fetchAgentNames(server);
  if (!agents || agents.includes(agent ?? '')) return;
  const has = agents.length === 0 ? 'no agent' : agents.join(', ');
  const text = `The server here has no agent "${agent}" (it has ${has}): the run waits until a server has it.`;
  terminal.printErr(...wrapLine([styled('yellow', '! '), text], terminal.columns));
}

const TIMEOUT_MS = 2_000;

/** The agents that a server has; undefined when it does not say. */
async function fetchAgentNames({ url, key }: RunningServer): Promise<readonly string[] | undefined> {
  try {
    const response = await fetch(new URL('/api/agents', url), {
      headers: { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { agents } = (await response.json()) as { readonly agents?: readonly { readonly name: string }[] };
    return agents?.map(({ name }) => name);
  } catch {
    // Whoever started a run wants to know of the run.
    return undefined;
  }
}
