import { createHash } from 'node:crypto';
import { invalidInput } from '../../core/invalid-input.ts';
import { agentMisuse } from '../definition/agent-errors.ts';

/** The id of an operation in the journal. The operation holds it until it has completed. */
export interface Identity {
  readonly id: string;
  /** Lets another operation with the same name begin. */
  release(): void;
}

/**
 * A part of an agent that runs sequentially: the whole function, a turn, or one branch. Each scope counts the names of
 * its operations, so that their ids never depend on the timing of other branches.
 */
export class Scope {
  readonly path: string;
  readonly #outer: Scope | undefined;
  #closed = false;
  readonly #counts = new Map<string, number>();
  readonly #outstanding = new Set<string>();
  #emitted = 0;

  constructor(path = '', outer?: Scope) {
    this.path = path;
    this.#outer = outer;
  }

  /** Whether this scope or one around it is abandoned, so that its operations do not begin any more. */
  get isClosed(): boolean {
    return this.#closed || (this.#outer?.isClosed ?? false);
  }

  /** Counts an emitted event: 0 for the first one of this scope. */
  nextEmitted(): number {
    this.#emitted += 1;
    return this.#emitted - 1;
  }

  close(): void {
    this.#closed = true;
  }

  /** The identity of the next operation of this name: `search`, `search#2`, `search:paris`. */
  enter(name: string, key?: string): Identity {
    return this.#enter(name, this.path + escapeName(name) + (key === undefined ? '' : `:${escapeKey(key)}`));
  }

  /** The identity of the next operation of a kind that has no name, such as `@now`. */
  enterUnnamed(kind: string): Identity {
    return this.#enter(kind, `${this.path}@${kind}`);
  }

  #enter(name: string, base: string): Identity {
    if (this.#outstanding.has(base)) {
      throw agentMisuse(
        `Two operations named "${name}" are outstanding at once, so a replay could confuse their results. Give each one a \`key\` (for a tool: a \`callId\`), or use \`ctx.map\` with the \`ctx\` of each branch.`,
      );
    }
    const count = (this.#counts.get(base) ?? 0) + 1;
    this.#counts.set(base, count);
    this.#outstanding.add(base);
    return { id: count === 1 ? base : `${base}#${count}`, release: () => this.#outstanding.delete(base) };
  }
}

/** Escapes the characters that have a meaning in an id; throws if the name is invalid. */
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

/** The path of the scope that an operation belongs to: `trips[3]/` for `trips[3]/search`. */
export const pathOf = (id: string): string => id.slice(0, id.lastIndexOf('/') + 1);

/** A short hash of a text: 96 bits of SHA-256. */
export const shortHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 16);
