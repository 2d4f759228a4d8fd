/** Nothing was deployed, because something is missing; the message says what to do. */
export class CannotBegin extends Error {
  override readonly name = 'CannotBegin';
}
