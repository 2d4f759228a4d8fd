import { TestClock } from '../lambda/testing.ts';

/** A clock that goes on by a millisecond whenever somebody looks, so that no two moments are the same, as in life. */
export class TickingClock extends TestClock {
  override now(): number {
    this.moveTo(super.now() + 1);
    return super.now();
  }
}
