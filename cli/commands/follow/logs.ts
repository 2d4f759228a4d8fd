import type { CheckpointSummary, Doc } from '../../../lambda/checkpoints/engine.ts';
import { buildTimeline } from '../../../lambda/operator/timeline.ts';
import type { CommonOptions, Session } from '../../session.ts';
import { jsonText } from '../../terminal/json-text.ts';
import { dim, type Line, type styled, truncate } from '../../terminal/line.ts';
import { statusText } from '../../terminal/status-style.ts';
import { formatTime } from '../../terminal/times.ts';
import { spanLabel } from '../output/timeline-lines.ts';
import { type FollowedEvent, followRun } from './follow-run.ts';

export interface LogsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly after?: string;
}

/** Prints what happened in a run: its checkpoints, emitted events and changes of status. */
export async function logs(session: Session, run: string, { follow, after }: LogsOptions): Promise<void> {
  const { terminal, isJson } = session;
  const target = await session.openTarget();
  const describe = createDescriber();
  for await (const events of followRun(target, run, { follow, after }))
    for (const event of events) {
      if (isJson) await terminal.write(`${jsonText(event)}\n`);
      else terminal.print(...describe(event, terminal.now()).map((line) => truncate(line, terminal.columns)));
    }
}

/** Describes events as lines. It remembers the last checkpoint, because the label of the next one depends on it. */
export function createDescriber(): (event: FollowedEvent, now: number) => readonly Line[] {
  let last: CheckpointSummary | undefined;
  return (event, now) => {
    switch (event.type) {
      case 'checkpoint': {
        const { checkpoint } = event;
        const spans = buildTimeline(last ? [last, checkpoint] : [checkpoint]).spans;
        const span = spans.find((each) => each.checkpoint?.version === checkpoint.version);
        last = checkpoint;
        const name = checkpoint.name === undefined ? '' : dim(`  "${checkpoint.name}"`);
        const label = checkpoint.kind === 'claim' || !span ? KINDS[checkpoint.kind] : spanLabel(span);
        return [lineAt(checkpoint.savedAt, String(checkpoint.version), label ?? checkpoint.kind, name)];
      }
      case 'event': {
        const origin = event.step === undefined ? '' : dim(`  ${event.step}`);
        return [lineAt(event.at, '•', compact(event.data), origin)];
      }
      case 'output':
        return event.output
          .flatMap((doc) => (typeof doc === 'string' ? doc : compact(doc)).split('\n'))
          .map((text) => [' '.repeat(TIME_WIDTH + 6), dim('│ '), text]);
      case 'status':
        return [lineAt(new Date(now), '', statusText(event.status))];
    }
  };
}

/** The labels of checkpoints that record no step. */
const KINDS: { readonly [K in CheckpointSummary['kind']]?: string } = { claim: 'claimed' };

const TIME_WIDTH = 19;

const lineAt = (time: Date, mark: string, ...text: readonly (string | ReturnType<typeof styled>)[]): Line => [
  dim(formatTime(time)),
  dim(mark.padStart(5)),
  ' ',
  ...text,
];

const compact = (doc: Doc): string => JSON.stringify(doc);
