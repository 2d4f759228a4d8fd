/** Where a text is no JSON, counted from 1, and what is wrong there. */
export interface JsonErrorPosition {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

// As deep as documents may be.
const MAX_JSON_DEPTH = 1000;

/** The first place where a text is no JSON, or says one thing twice; undefined when it is fine. */
export function findJsonError(text: string): JsonErrorPosition | undefined {
  try {
    new JsonScanner(text).read();
    return undefined;
  } catch (error) {
    if (!(error instanceof JsonSyntaxProblem)) throw error;
    const before = text.slice(0, error.position);
    const line = before.split('\n').length;
    return { line, column: error.position - before.lastIndexOf('\n'), problem: error.problem };
  }
}

/** The same for people. */
export const formatJsonError = ({ line, column, problem }: JsonErrorPosition): string =>
  `Line ${line}, column ${column}: ${problem}`;

const UNEXPECTED_END = 'it ends before it is complete';

class JsonSyntaxProblem {
  readonly position: number;
  readonly problem: string;

  constructor(position: number, problem: string) {
    this.position = position;
    this.problem = problem;
  }
}

class JsonScanner {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): void {
    this.#value(0);
    if (this.#position < this.#text.length) throw this.#problem('nothing can follow the end of the value');
  }

  #value(level: number): void {
    this.#space();
    if (level > MAX_JSON_DEPTH) throw this.#problem(`more than ${MAX_JSON_DEPTH} levels`);
    const next = this.#text.charAt(this.#position);
    if (next === '{') this.#object(level);
    else if (next === '[') this.#list(level);
    else if (next === '"') this.#string();
    else if (!this.#take(/true|false|null|-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y)) throw this.#valueProblem();
    else if (/[\w.]/.test(this.#text.charAt(this.#position))) throw this.#valueProblem();
    this.#space();
  }

  #object(level: number): void {
    const keys = new Set<string>();
    this.#items('{', '}', () => {
      if (this.#position >= this.#text.length) throw this.#problem(UNEXPECTED_END);
      if (this.#text.charAt(this.#position) !== '"')
        throw this.#problem('expected the name of a field in double quotes');
      const start = this.#position;
      this.#string();
      const key: string = JSON.parse(this.#text.slice(start, this.#position));
      if (keys.has(key)) throw new JsonSyntaxProblem(start, `the field ${JSON.stringify(key)} is there already`);
      keys.add(key);
      this.#space();
      if (!this.#take(/:/y)) throw this.#problem('expected a colon behind the name of the field');
      this.#value(level + 1);
    });
  }

  #list(level: number): void {
    this.#items('[', ']', () => this.#value(level + 1));
  }

  #items(open: string, close: string, item: () => void): void {
    this.#position += open.length;
    this.#space();
    if (this.#text.charAt(this.#position) === close) {
      this.#position += 1;
      return;
    }
    for (;;) {
      item();
      const comma = this.#position;
      const next = this.#text.charAt(this.#position++);
      if (next === close) return;
      if (next !== ',') throw new JsonSyntaxProblem(comma, `expected a comma or ${close}${this.#describeFound(comma)}`);
      this.#space();
      if (this.#text.charAt(this.#position) === close)
        throw new JsonSyntaxProblem(comma, `a comma cannot stand before ${close}`);
    }
  }

  #string(): void {
    const start = this.#position++;
    for (;;) {
      this.#take(/(?:[^"\\\p{Cc}]|[\u007F-\u009F])+/uy);
      const next = this.#text.charAt(this.#position);
      if (next === '"') {
        this.#position += 1;
        return;
      }
      if (next === '') throw new JsonSyntaxProblem(start, 'the text that begins here has no closing quote');
      if (next === '\n') throw this.#problem('a text cannot go over lines; write \\n for a line break');
      if (next !== '\\') throw this.#problem('a control character; write it as \\u and four digits');
      if (!this.#take(/\\(["\\/bfnrt]|u[0-9a-fA-F]{4})/y))
        throw this.#problem('no such escape; write \\\\ for a backslash');
    }
  }

  #space(): void {
    this.#take(/[ \t\n\r]+/y);
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.#text)?.[0];
    if (found === undefined) return false;
    this.#position += found.length;
    return true;
  }

  #valueProblem(): JsonSyntaxProblem {
    const next = this.#text.charAt(this.#position);
    if (next === '')
      return this.#text.trim() === '' ? this.#problem('there is nothing') : this.#problem(UNEXPECTED_END);
    if (next === "'" || next === '`') return this.#problem('text stands in double quotes');
    if (next === '/' || next === '#') return this.#problem('JSON has no comments');
    return new JsonSyntaxProblem(
      this.#position,
      `expected a value: text in double quotes, a number, true, false, null, [ or {${this.#describeFound(this.#position)}`,
    );
  }

  #problem(problem: string): JsonSyntaxProblem {
    return new JsonSyntaxProblem(this.#position, problem);
  }

  #describeFound(position: number): string {
    const point = this.#text.codePointAt(position);
    if (point === undefined) return '; it ends here';
    const character = String.fromCodePoint(point);
    return `; found ${/[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? character : `U+${point.toString(16).toUpperCase().padStart(4, '0')}`}`;
  }
}
