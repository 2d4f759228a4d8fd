import type { RestartPreview } from '../../operator/operator.ts';
import { pluralize } from '../document/show-options.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { userText } from '../text.ts';

const MAX_SHOWN = 100;

/** The steps that a rewind or fork runs again, before the user confirms it. */
export function repeatedSteps({ steps, hasMore }: RestartPreview): Html {
  if (steps.length === 0) return html`<p class="quiet">No completed step runs again.</p>`;
  const hidden = steps.length - MAX_SHOWN;
  return notice(
    'wait',
    html`${pluralize(steps.length, 'step')}${hasMore && ' and more'} will run again`,
    html`<p>${steps.length === 1 ? 'Its' : 'Their'} effects outside of the run happen again. Nothing is undone first.</p>`,
    html`<ul>${steps.slice(0, MAX_SHOWN).map(stepItem)}</ul>`,
    hidden > 0 && html`<p>And ${pluralize(hidden, 'more step')}.</p>`,
  );
}

function stepItem({ id, kind, failed, undone }: RestartPreview['steps'][number]): Html {
  const about = [failed && 'failed before', undone && 'was undone'].filter(Boolean).join(', ');
  return html`<li><code>${userText(id)}</code>${kind !== undefined && html` <span class="tag">${kind}</span>`}${about !== '' && html` <span class="quiet">${about}</span>`}</li>`;
}
