/** Whoever was asked said no. */
export class Declined extends Error {
  override readonly name = 'Declined';
}

/** Somebody pressed Ctrl-C. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}
