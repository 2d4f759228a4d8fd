import { escapeControls } from './escape-controls.ts';

/** A value as JSON on one line, safe for a terminal too: what could steer one is escaped, as JSON allows. */
export const jsonText = (value: unknown): string => escapeControls(JSON.stringify(value) ?? 'null');

/** A value as JSON for people, line by line. */
export const jsonLines = (value: unknown): readonly string[] =>
  (JSON.stringify(value, undefined, 2) ?? 'null').split('\n').map(escapeControls);
