import { OTHERS, type TypeCodecs } from './document.ts';

/** An instance of a class that this code does not know, kept as it was stored: it can be shown and written again. */
export class UnknownInstance {
  readonly type: string;
  readonly data: unknown;

  constructor(type: string, data: unknown) {
    this.type = type;
    this.data = data;
  }
}

/** For those who have no code of agents: instances of any class are kept instead of being refused. */
export const ANY_TYPE: TypeCodecs = Object.freeze({
  [OTHERS]: {
    is: (value: unknown) => value instanceof UnknownInstance,
    decode: (type: string, data: unknown) => new UnknownInstance(type, data),
  },
});
