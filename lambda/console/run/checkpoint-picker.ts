import type { Operator } from '../../operator/operator.ts';
import type { TimelinePage } from '../../operator/timeline-page.ts';
import { formatRelativeTime } from '../format-time.ts';
import { type Html, type HtmlValue, html } from '../markup.ts';
import { plainText } from '../text.ts';

/** A checkpoint to choose. */
export interface CheckpointChoice {
  readonly version: number;
  /** What the run did, in words. Absent if it was not read. */
  readonly label?: string;
  readonly savedAt?: Date;
  readonly isPruned?: boolean;
}

const MAX_CHOICES = 100;

/** The checkpoints around a version, newest first; without one, the newest. */
export async function loadChoices(
  operator: Operator,
  run: string,
  around?: number,
): Promise<readonly CheckpointChoice[]> {
  const to = around === undefined ? {} : { to: around + MAX_CHOICES / 2 };
  return choicesOf(await operator.timeline(run, { ...to, limit: MAX_CHOICES }));
}

function choicesOf({ spans, first }: TimelinePage): readonly CheckpointChoice[] {
  const choices = new Map<number, CheckpointChoice>();
  for (const { label, checkpoint } of spans) {
    if (!checkpoint) continue;
    const { version, name, savedAt, pruned } = checkpoint;
    const words = name === undefined ? label : `${label} (${name})`;
    choices.set(version, { version, label: words, savedAt, isPruned: pruned === true });
  }
  // The first checkpoint that was read starts the first span, so it ends none.
  if (first > 1 && !choices.has(first)) choices.set(first, { version: first });
  return [...choices.values()].toSorted((a, b) => b.version - a.version);
}

/** Options of {@link checkpointPicker}. */
export interface PickerOptions {
  readonly name: string;
  readonly label: HtmlValue;
  readonly choices: readonly CheckpointChoice[];
  /** Without one, the user must choose. */
  readonly chosen?: number | undefined;
  readonly now: Date;
}

/** A field that chooses a checkpoint from a list of steps. A chosen one that is far away is in the list too. */
export function checkpointPicker({ name, label, choices, chosen, now }: PickerOptions): Html {
  const isListed = chosen === undefined || choices.some(({ version }) => version === chosen);
  const all = isListed ? choices : [...choices, { version: chosen }];
  return html`<label for="${name}">${label}</label><select id="${name}" name="${name}" class="picker" required>${
    chosen === undefined && html`<option value="">Choose a checkpoint</option>`
  }${all.map((choice) => option(choice, chosen, now))}</select>`;
}

function option({ version, label, savedAt, isPruned }: CheckpointChoice, chosen: number | undefined, now: Date): Html {
  const when = savedAt && formatRelativeTime(savedAt.getTime(), now.getTime());
  const words = [label && plainText(shorten(label)), when, isPruned && 'pruned'].filter(Boolean).join(' · ');
  return html`<option value="${version}"${version === chosen && html` selected`}${isPruned && version !== chosen && html` disabled`}>${version}${words !== '' && `: ${words}`}</option>`;
}

const MAX_CHARACTERS = 60;
const shorten = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text;
