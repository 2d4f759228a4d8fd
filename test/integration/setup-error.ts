/** The test cannot start, and nothing was deployed; the message says what to do. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}
