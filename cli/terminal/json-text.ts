import { escapeControls } from './escape-controls.ts';

/** A value as JSON on one line, with the characters escaped that could control a terminal. */
export const jsonText = (value: unknown): string => escapeControls(JSON.stringify(value) ?? 'null');

/** A value as indented JSON, line by line, safe for a terminal. */
export const jsonLines = (value: unknown): readonly string[] =>
  (JSON.stringify(value, undefined, 2) ?? 'null').split('\n').map(escapeControls);
