/** Nothing was deployed, because something is missing; the message says what to do. */
export class SetupError extends Error {
  override readonly name = 'CannotBegin';
}
