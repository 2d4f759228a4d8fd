/** Where a text is no JSON, counted from 1, and what is wrong there. */
export interface JsonErrorPosition {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

// As deep as documents may be.
const MOST_LEVELS = 1000;

/** The first place where a text is no JSON, or says one thing twice; undefined when it is fine. */
export function findJsonError(text: string): JsonErrorPosition | undefined {
  try {
    new Reader(text).read();
    return undefined;
  } catch (wrong) {
    if (!(wrong instanceof Wrong)) throw wrong;
    const before = text.slice(0, wrong.at);
    const line = before.split('\n').length;
    return { line, column: wrong.at - before.lastIndexOf('\n'), problem: wrong.problem };
  }
}

/** The same for people. */
export const formatJsonError = ({ line, column, problem }: JsonErrorPosition): string =>
  `Line ${line}, column ${column}: ${problem}`;

const CUT_OFF = 'it ends before it is complete';

class Wrong {
  readonly at: number;
  readonly problem: string;

  constructor(at: number, problem: string) {
    this.at = at;
    this.problem = problem;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): void {
    this.#value(0);
    if (this.#at < this.#text.length) throw this.#wrong('nothing can follow the end of the value');
  }

  #value(level: number): void {
    this.#space();
    if (level > MOST_LEVELS) throw this.#wrong(`more than ${MOST_LEVELS} levels`);
    const next = this.#text.charAt(this.#at);
    if (next === '{') this.#object(level);
    else if (next === '[') this.#list(level);
    else if (next === '"') this.#string();
    else if (!this.#take(/true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y)) throw this.#noValue();
    else if (/[\w.]/.test(this.#text.charAt(this.#at))) throw this.#noValue();
    this.#space();
  }

  #object(level: number): void {
    const keys = new Set<string>();
    this.#each('{', '}', () => {
      if (this.#at >= this.#text.length) throw this.#wrong(CUT_OFF);
      if (this.#text.charAt(this.#at) !== '"') throw this.#wrong('expected the name of a field in double quotes');
      const start = this.#at;
      this.#string();
      const key: string = JSON.parse(this.#text.slice(start, this.#at));
      if (keys.has(key)) throw new Wrong(start, `the field ${JSON.stringify(key)} is there already`);
      keys.add(key);
      this.#space();
      if (!this.#take(/:/y)) throw this.#wrong('expected a colon behind the name of the field');
      this.#value(level + 1);
    });
  }

  #list(level: number): void {
    this.#each('[', ']', () => this.#value(level + 1));
  }

  #each(open: string, close: string, item: () => void): void {
    this.#at += open.length;
    this.#space();
    if (this.#text.charAt(this.#at) === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      item();
      const comma = this.#at;
      const next = this.#text.charAt(this.#at++);
      if (next === close) return;
      if (next !== ',') throw new Wrong(comma, `expected a comma or ${close}${this.#found(comma)}`);
      this.#space();
      if (this.#text.charAt(this.#at) === close) throw new Wrong(comma, `a comma cannot stand before ${close}`);
    }
  }

  #string(): void {
    const start = this.#at++;
    for (;;) {
      this.#take(/(?:[^"\\\p{Cc}]|[\u007F-\u009F])+/uy);
      const next = this.#text.charAt(this.#at);
      if (next === '"') {
        this.#at += 1;
        return;
      }
      if (next === '') throw new Wrong(start, 'the text that begins here has no closing quote');
      if (next === '\n') throw this.#wrong('a text cannot go over lines; write \\n for a line break');
      if (next !== '\\') throw this.#wrong('a control character; write it as \\u and four digits');
      if (!this.#take(/\\(["\\/bfnrt]|u[0-9a-fA-F]{4})/y))
        throw this.#wrong('no such escape; write \\\\ for a backslash');
    }
  }

  #space(): void {
    this.#take(/[ \t\n\r]+/y);
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return false;
    this.#at += found.length;
    return true;
  }

  #noValue(): Wrong {
    const next = this.#text.charAt(this.#at);
    if (next === '') return this.#text.trim() === '' ? this.#wrong('there is nothing') : this.#wrong(CUT_OFF);
    if (next === "'" || next === '`') return this.#wrong('text stands in double quotes');
    if (next === '/' || next === '#') return this.#wrong('JSON has no comments');
    return new Wrong(
      this.#at,
      `expected a value: text in double quotes, a number, true, false, null, [ or {${this.#found(this.#at)}`,
    );
  }

  #wrong(problem: string): Wrong {
    return new Wrong(this.#at, problem);
  }

  #found(at: number): string {
    const point = this.#text.codePointAt(at);
    if (point === undefined) return '; it ends here';
    const character = String.fromCodePoint(point);
    return `; found ${/[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? character : `U+${point.toString(16).toUpperCase().padStart(4, '0')}`}`;
  }
}
