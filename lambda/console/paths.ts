import { encodePathId } from '../http/path-id.ts';

/** The query of a URL, of what has a value. */
export function queryString(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && value !== '') given.set(name, String(value));
  return given.size === 0 ? '' : `?${given}`;
}

const runPath = (run: string): string => `/console/runs/${encodePathId(run)}`;

/** Where the pages of the console are. */
export const PATHS = {
  home: '/console',
  inbox: '/console/inbox',
  runs: '/console/runs',
  /** What changed in the list of runs. */
  changes: '/console/changes',
  start: '/console/start',
  run: runPath,
  /** What belongs to a run: its lineage, a difference, and what can be done to it. */
  ofRun: (run: string, page: RunPageName): string => `${runPath(run)}/${page}`,
  checkpoint: (run: string, version: number): string => `${runPath(run)}/checkpoints/${version}`,
  approval: (run: string, id: string): string => `${runPath(run)}/approvals/${encodePathId(id)}`,
  asset: (file: string): string => `/approvals/assets/${file}`,
} as const;

export type RunPageName =
  | 'changes'
  | 'questions'
  | 'lineage'
  | 'diff'
  | 'cancel'
  | 'retry'
  | 'signal'
  | 'rewind'
  | 'fork';
