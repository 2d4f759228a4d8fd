import type { Doc } from '../../../lambda/checkpoints/engine.ts';
import { WaitstateError } from '../../../lambda/core/errors.ts';
import { findJsonError, type JsonErrorPosition } from '../../../lambda/core/json-error-position.ts';

/** Parses JSON from the user; an error names line and column and shows an excerpt. */
export function parseJson(text: string, source: string): Doc {
  const mistake = findJsonError(text);
  if (!mistake) return JSON.parse(text);
  throw new WaitstateError('INVALID_INPUT', describeMistake(text, source, mistake));
}

function describeMistake(text: string, source: string, { line, column, problem }: JsonErrorPosition): string {
  if (text.trim() === '') return `${source} is empty; JSON is expected.`;
  // The most common mistake: the shell removes the quotes of "hello".
  const isWord = /^[^\s[\]{}",:]+$/.test(text.trim());
  const hint = isWord ? ` A string needs double quotes: '"${text.trim().slice(0, 40)}"'.` : '';
  const where = `${source} is not JSON at line ${line}, column ${column}: ${problem}.${hint}`;
  return `${where}\n${excerpt(text.split('\n')[line - 1] ?? '', column - 1)}`;
}

const EXCERPT_RADIUS = 30;

/** The part of a line around a column, with a marker below it. */
function excerpt(line: string, column: number): string {
  const from = Math.max(0, column - EXCERPT_RADIUS);
  // Tabs would move the marker.
  const part = line
    .slice(from, column + EXCERPT_RADIUS)
    .replaceAll('\t', ' ')
    .replace(/\r$/, '');
  const start = from > 0 ? '…' : '';
  return `${start}${part}\n${' '.repeat(start.length + column - from)}^`;
}
