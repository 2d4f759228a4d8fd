import { createHash } from 'node:crypto';
import { invalidInput } from '../../core/invalid-input.ts';
import { agentMisuse } from '../definition/agent-errors.ts';

/** What an operation is known by in the journal, until it is over. */
export interface Identity {
  readonly id: string;
  /** Lets another operation of the name begin. */
  release(): void;
}

/**
 * A part of an agent in which one thing happens after the other: the whole of it, a turn, or one branch. Names are
 * counted in it, so that what an operation is called never depends on what other branches do.
 */
export class Scope {
  readonly path: string;
  readonly #outer: Scope | undefined;
  #closed = false;
  readonly #counts = new Map<string, number>();
  readonly #outstanding = new Set<string>();

  constructor(path = '', outer?: Scope) {
    this.path = path;
    this.#outer = outer;
  }

  /** Nobody needs what happens here any more, or around it: what is not begun is left. */
  get isClosed(): boolean {
    return this.#closed || (this.#outer?.isClosed ?? false);
  }

  close(): void {
    this.#closed = true;
  }

  /** The identity of the next operation of this name: `search`, `search#2`, `search:paris`. */
  enter(name: string, key?: string): Identity {
    return this.#enter(name, this.path + escapeName(name) + (key === undefined ? '' : `:${escapeKey(key)}`));
  }

  /** The identity of an operation that has no name of the agent's. */
  enterUnnamed(kind: string): Identity {
    return this.#enter(kind, `${this.path}@${kind}`);
  }

  #enter(name: string, base: string): Identity {
    if (this.#outstanding.has(base)) {
      throw agentMisuse(
        `Two operations named "${name}" are outstanding at once; which result is whose would depend on timing. Give each a \`key\` (a tool: its \`callId\`), or use \`ctx.map\` and in it the \`ctx\` of the branch.`,
      );
    }
    const count = (this.#counts.get(base) ?? 0) + 1;
    this.#counts.set(base, count);
    this.#outstanding.add(base);
    return { id: count === 1 ? base : `${base}#${count}`, release: () => this.#outstanding.delete(base) };
  }
}

/** Escapes what has a meaning in an identity; refuses what is no name. */
function escapeName(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > 200 || !name.isWellFormed())
    throw invalidInput('The name of an operation', 'text of 1 to 200 characters', name);
  return name.replace(/[%/#:[\]~]|^@/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

function escapeKey(key: unknown): string {
  if (typeof key !== 'string' || key === '' || !key.isWellFormed())
    throw invalidInput('The `key` of an operation', 'text of at least one character', key);
  return key.length > 100 ? `~${shortHash(key)}` : escapeName(key);
}

/** The name in an identity: `trips[3]/search:paris#2` is of `search`. */
export const operationName = (id: string): string =>
  decodeURIComponent((id.split('/').at(-1) ?? '').replace(/[#:].*$/, ''));

/** A short hash of a text: 96 bits of SHA-256. */
export const shortHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);
