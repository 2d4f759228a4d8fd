import { type Doc, equal, isFields, specialOf } from '../../checkpoints/engine.ts';
import type { ApprovalDocument } from '../../operator/approval-document.ts';
import { showDocument } from '../document/show-document.ts';
import { type Html, html } from '../markup.ts';
import { notice } from '../notice.ts';
import { plainText, revealHidden, userText } from '../text.ts';

type Changed = NonNullable<ApprovalDocument['changed']>;

/** Explains why approval is requested again. */
export const followUpReason = (changed: Changed): Html => {
  const refused = rejectedEdits(changed);
  return refused === undefined ? changedFacts(changed) : notAccepted(changed.before, refused);
};

/** Why the agent rejected the edits of the previous approval; undefined if facts changed instead. */
export const rejectedEdits = ({ after }: Changed): string | undefined =>
  typeof after === 'string' ? after : undefined;

const notAccepted = (edits: Doc, why: string): Html =>
  notice(
    'wait',
    'The approved changes were not accepted',
    html`<div class="text" dir="auto">${revealHidden(why)}</div>
<details><summary>Changes</summary><div class="doc">${showDocument(edits)}</div></details>`,
  );

/** The facts that changed, before and after. */
function changedFacts({ before, after }: Changed): Html {
  const rows = differences(before, after).map(
    ([name, old, now]) => html`<tr role="row">
<th role="rowheader" scope="row">${name === '' ? 'All facts' : userText(name)}</th>
<td role="cell" class="before" data-label="Before">${old === undefined ? ABSENT : html`<del>${showDocument(old)}</del>`}</td>
<td role="cell" class="after" data-label="Now">${now === undefined ? ABSENT : html`<ins>${showDocument(now)}</ins>`}</td>
</tr>`,
  );
  return html`<section class="notice wait changed-values" aria-labelledby="changed">
<h2 id="changed">Facts that changed since the last request</h2>
<div class="doc"><table class="records" role="table">
<thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Fact</th><th role="columnheader" scope="col">Before</th><th role="columnheader" scope="col">Now</th></tr></thead>
<tbody role="rowgroup">${rows}</tbody></table></div>
</section>`;
}

const ABSENT = html`<span class="quiet">(none)</span>`;

type Row = readonly [name: string, before: Doc | undefined, after: Doc | undefined];

function differences(before: Doc, after: Doc): readonly Row[] {
  if (!isFields(before) || !isFields(after) || specialOf(before) !== undefined || specialOf(after) !== undefined)
    return [['', before, after]];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const rows = names.map((name): Row => [name, before[name], after[name]]);
  return rows.filter(([, old, now]) => !equal(old, now));
}

/** One line on why approval is requested again. */
export function followUpSummary(changed: Changed): string {
  if (rejectedEdits(changed) !== undefined) return 'the approved changes were not accepted';
  const names = differences(changed.before, changed.after).map(([name]) => plainText(name === '' ? 'all' : name));
  return `these facts changed: ${names.join(', ')}`;
}
