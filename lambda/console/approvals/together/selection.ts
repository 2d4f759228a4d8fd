import { invalidInput } from '../../../core/invalid-input.ts';
import { decodePathId, encodePathId } from '../../../http/path-id.ts';
import type { ShownApproval } from '../../../runtime/approvals/decide-all.ts';

type Form = Readonly<Record<string, string>>;

/** A request that a form names. */
export type Picked = Pick<ShownApproval, 'run' | 'approval'>;

/** A request as the value of a form field, with the hash of what was shown if there is one. */
export const toFieldValue = ({ run, approval, contentHash }: Picked & Partial<ShownApproval>): string =>
  [run, approval, ...(contentHash === undefined ? [] : [contentHash])].map(encodePathId).join('/');

/** Several requests as the value of one form field. */
export const toListValue = (picked: readonly Picked[]): string =>
  picked.map(({ run, approval }) => toFieldValue({ run, approval })).join(' ');

/** The requests to show: those of a list, or those whose boxes are checked. Each once. */
export function pickedIn(form: Form): readonly Picked[] {
  const values = form.list === undefined ? fieldsOf(form, 'pick') : form.list.split(' ');
  return [...new Set(values)].map((value) => {
    const [run = '', approval = ''] = parseValue(value, 2);
    return { run, approval };
  });
}

/** The requests to decide: those whose boxes are checked, with the hash of what was shown. */
export const shownIn = (form: Form): readonly ShownApproval[] =>
  fieldsOf(form, 'item').map((value) => {
    const [run = '', approval = '', contentHash = ''] = parseValue(value, 3);
    return { run, approval, contentHash };
  });

const fieldsOf = (form: Form, prefix: string): readonly string[] =>
  Object.entries(form).flatMap(([name, value]) => (name.startsWith(`${prefix}-`) ? value : []));

function parseValue(value: string, parts: number): readonly string[] {
  const ids = value.split('/');
  if (ids.length !== parts)
    throw invalidInput('A selected request', 'as the page wrote it. Load the page again', value);
  return ids.map(decodePathId);
}
