/** The user answered a confirmation with no. */
export class Declined extends Error {
  override readonly name = 'Declined';
}

/** The user pressed Ctrl-C at a prompt. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}
