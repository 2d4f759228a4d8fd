/** The position of a syntax error in JSON, counted from 1, and what is wrong there. */
export interface JsonErrorPosition {
  readonly line: number;
  readonly column: number;
  readonly problem: string;
}

// The maximum depth of documents.
const MAX_JSON_DEPTH = 1000;

/** The first syntax error or duplicate field in a JSON text; undefined when the text is valid. */
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

/** A JSON error as one line for people. */
export const formatJsonError = ({ line, column, problem }: JsonErrorPosition): string =>
  `Line ${line}, column ${column}: ${problem}`;

const UNEXPECTED_END = 'unexpected end of the text';

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
    if (this.#position < this.#text.length) throw this.#problem('unexpected text after the end of the value');
  }

  #value(level: number): void {
    this.#space();
    if (level > MAX_JSON_DEPTH) throw this.#problem(`nested deeper than ${MAX_JSON_DEPTH} levels`);
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
      if (this.#text.charAt(this.#position) !== '"') throw this.#problem('expected a field name in double quotes');
      const start = this.#position;
      this.#string();
      const key: string = JSON.parse(this.#text.slice(start, this.#position));
      if (keys.has(key)) throw new JsonSyntaxProblem(start, `duplicate field ${JSON.stringify(key)}`);
      keys.add(key);
      this.#space();
      if (!this.#take(/:/y)) throw this.#problem('expected a colon after the field name');
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
        throw new JsonSyntaxProblem(comma, `trailing comma before ${close}`);
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
      if (next === '') throw new JsonSyntaxProblem(start, 'the string that starts here has no closing quote');
      if (next === '\n') throw this.#problem('a string cannot span several lines; write \\n for a line break');
      if (next !== '\\')
        throw this.#problem('unescaped control character; write it as \\u and four hexadecimal digits');
      if (!this.#take(/\\(["\\/bfnrt]|u[0-9a-fA-F]{4})/y))
        throw this.#problem('unknown escape sequence; write \\\\ for a backslash');
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
      return this.#text.trim() === '' ? this.#problem('the text is empty') : this.#problem(UNEXPECTED_END);
    if (next === "'" || next === '`') return this.#problem('strings need double quotes');
    if (next === '/' || next === '#') return this.#problem('comments are not allowed in JSON');
    return new JsonSyntaxProblem(
      this.#position,
      `expected a value: a string in double quotes, a number, true, false, null, [ or {${this.#describeFound(this.#position)}`,
    );
  }

  #problem(problem: string): JsonSyntaxProblem {
    return new JsonSyntaxProblem(this.#position, problem);
  }

  #describeFound(position: number): string {
    const point = this.#text.codePointAt(position);
    if (point === undefined) return '; found the end of the text';
    const character = String.fromCodePoint(point);
    return `; found ${/[\p{L}\p{N}\p{P}\p{S}]/u.test(character) ? character : `U+${point.toString(16).toUpperCase().padStart(4, '0')}`}`;
  }
}
