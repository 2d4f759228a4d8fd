import { WaitstateError } from '../errors.ts';
import type { FieldProblem } from './find-problems.ts';

/** An answer or edits that do not match the form of the request; nothing was recorded. */
export class RefusedValueError extends WaitstateError {
  override readonly name = 'RefusedValueError';
  /** The field of the decision that has the value. */
  readonly field: 'value' | 'edits';
  readonly problems: readonly FieldProblem[];

  constructor(field: 'value' | 'edits', problems: readonly FieldProblem[]) {
    const listed = problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
    super(
      'SCHEMA_REFUSED',
      `${field === 'value' ? 'The answer is' : 'The changes are'} not valid. ${listed.join(' ')}`,
    );
    this.field = field;
    this.problems = problems;
  }
}
