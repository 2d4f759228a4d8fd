import { adopt, type Doc, damaged } from './document.ts';

/** Parses a document from JSON text; it is frozen, so its plain parts can be returned as values. */
export function parse(text: string): Doc {
  return adopt(readJson(text));
}

function readJson(text: string): Doc {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw damaged('it is not JSON', cause);
  }
}
