import { OTHERS, type TypeCodecs } from './document.ts';

/** An instance of an unknown class, kept as it was stored, so that it can be shown and saved again. */
export class UnknownInstance {
  readonly type: string;
  readonly data: unknown;

  constructor(type: string, data: unknown) {
    this.type = type;
    this.data = data;
  }
}

/** Codecs for callers without the agents' code: instances of any class are kept instead of rejected. */
export const ANY_TYPE: TypeCodecs = Object.freeze({
  [OTHERS]: {
    is: (value: unknown) => value instanceof UnknownInstance,
    decode: (type: string, data: unknown) => new UnknownInstance(type, data),
  },
});
