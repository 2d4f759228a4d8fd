import type { Operator, RestartPreview } from '../../../lambda/operator/operator.ts';
import type { Session } from '../../session.ts';
import { dim, type Line, styled, wrapText } from '../../terminal/line.ts';
import { pluralize } from '../output/print-result.ts';
import { confirm } from './confirm.ts';

/** What a command is about to do again. */
export interface Restart {
  readonly operator: Operator;
  readonly run: string;
  readonly version: number;
  readonly action: 'rewind' | 'fork';
  /** What happens, up to the list of steps. */
  readonly warning: string;
  /** Whether the user gives another state. */
  readonly editsState: boolean;
  /** Whether to ask even if no step runs again. */
  readonly alwaysAsks: boolean;
  readonly isConfirmed: boolean | undefined;
}

/** Lists the steps that run again, and asks for confirmation. Returns what runs again. */
export async function confirmRestart(session: Session, restart: Restart): Promise<RestartPreview> {
  const { operator, run, version, action, warning, editsState, alwaysAsks, isConfirmed } = restart;
  const { terminal, isJson } = session;
  const preview = await operator.previewRestart(run, version, action);
  const { steps, hasMore } = preview;
  const note = (text: string): void => {
    if (!isJson) terminal.printErr(...wrapText(text, Math.min(terminal.columns, 100)).map((line) => dim(line)));
  };
  if (editsState) for (const text of stateNotes(preview, action)) note(text);
  if (steps.length > 0 && !isJson) {
    const more = hasMore ? ' and more' : '';
    terminal.printErr([styled('yellow', '! '), `${pluralize(steps.length, 'step')}${more} will run again:`]);
    terminal.printErr(...steps.map(stepLine));
  }
  if (!alwaysAsks && steps.length === 0) return preview;
  const again =
    steps.length > 0 ? ` ${describeSteps(preview)} will run again, including effects outside of the run.` : '';
  await confirm(session, `${warning}${again}`, isConfirmed);
  return preview;
}

function stepLine({ id, kind, undone, failed, canBeUndone }: RestartPreview['steps'][number]): Line {
  const about = [kind, failed && 'failed before', undone ? 'was undone' : canBeUndone && 'is not undone first'];
  return ['    ', id, dim(` (${about.filter(Boolean).join(', ') || 'step'})`)];
}

function describeSteps({ steps, hasMore }: RestartPreview): string {
  const names = steps.slice(0, 10).map(({ id }) => `"${id}"`);
  const rest = steps.length - names.length;
  const others = rest > 0 ? `${rest} others` : 'others';
  return `${names.join(', ')}${rest > 0 || hasMore ? ` and ${others}` : ''}`;
}

/** What another state cannot change, and what to do instead. */
function stateNotes(
  { stateChanges, replaceableResults }: RestartPreview,
  action: 'rewind' | 'fork',
): readonly string[] {
  const [first] = replaceableResults;
  const instead =
    first === undefined
      ? ''
      : action === 'fork'
        ? ` To change what the agent did before, replace a result: --result '${first}=JSON'.`
        : ` To change what the agent did before, fork the run and replace a result: waitstate fork --result '${first}=JSON'.`;
  if (stateChanges === 'nothing') return [`The agent has no state, so another state changes nothing.${instead}`];
  if (stateChanges === 'later code')
    return [
      `The agent replays its recorded results, so another state affects only code after the checkpoint.${instead}`,
    ];
  return [];
}
