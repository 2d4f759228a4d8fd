import type { Doc } from '../checkpoints/document/document.ts';
import { encode } from '../checkpoints/document/encode.ts';
import { isPayload } from '../checkpoints/payload.ts';
import { present } from '../core/present.ts';
import type { ApprovalView } from '../runtime/approvals/view.ts';

/** An approval as JSON: what was shown is a document, in which `$` nodes stand for what JSON lacks. */
export function approvalJson({ show, facts, changed, ...view }: ApprovalView): object {
  return { ...view, ...present({ show: document(show), facts: document(facts), changed: document(changed) }) };
}

/** Of a payload there is only what it is: whoever decides on a link cannot fetch it. */
const document = (value: unknown): Doc | undefined =>
  value === undefined
    ? undefined
    : encode(value, {
        root: 'show',
        payload: (part) =>
          isPayload(part) ? present({ size: part.size, type: part.type, digest: part.digest }) : undefined,
      });
