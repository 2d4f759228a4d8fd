import type { Place } from '../place/place.ts';
import type { Session } from '../session.ts';
import { dim } from '../terminal/line.ts';
import { shellQuote } from '../terminal/shell-quote.ts';

/** Says so where nobody runs what was made ready: the table's stream does on AWS, and a server on one machine. */
export async function tellIfNobodyRuns({ terminal, isJson }: Session, { at }: Place): Promise<void> {
  if (isJson || at.kind !== 'folder') return;
  const { runningServer } = await import('../dev/server-file.ts');
  if (await runningServer(at.folder)) return;
  const folder = at.folder === '.holdpoint' ? '' : ` --folder ${shellQuote(at.folder)}`;
  terminal.tell(dim(`No server is running here; "holdpoint dev${folder} AGENT-FILES" runs what is ready.`));
}
