import { adopt, type Doc, damaged } from './document.ts';

/** Reads a document from its JSON text; frozen, so that its plain parts can be handed out as live values. */
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
