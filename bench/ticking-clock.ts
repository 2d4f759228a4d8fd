import { TestClock } from '../lambda/testing.ts';

/** A clock that advances by a millisecond each time it is read, so that no two times are equal. */
export class TickingClock extends TestClock {
  override now(): number {
    this.moveTo(super.now() + 1);
    return super.now();
  }
}
