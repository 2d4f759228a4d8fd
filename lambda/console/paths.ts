import { encodePathId } from '../http/path-id.ts';

/** A query string of the fields that have a value. */
export function queryString(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && value !== '') given.set(name, String(value));
  return given.size === 0 ? '' : `?${given}`;
}

const runPath = (run: string): string => `/console/runs/${encodePathId(run)}`;

/** Paths of the console. */
export const PATHS = {
  home: '/console',
  inbox: '/console/inbox',
  /** Decides several requests of one kind. */
  decideTogether: '/console/inbox/decide',
  /** Says who answers for a person who is away. */
  away: '/console/away',
  runs: '/console/runs',
  /** Changes of the list of runs. */
  changes: '/console/changes',
  start: '/console/start',
  run: runPath,
  /** A page of a run, such as its lineage or an action. */
  ofRun: (run: string, page: RunPageName): string => `${runPath(run)}/${page}`,
  checkpoint: (run: string, version: number): string => `${runPath(run)}/checkpoints/${version}`,
  approval: (run: string, id: string): string => `${runPath(run)}/approvals/${encodePathId(id)}`,
  asset: (file: string): string => `/approvals/assets/${file}`,
} as const;

/** The last segment of the path of a run's page. */
export type RunPageName =
  | 'changes'
  | 'content'
  | 'approvals'
  | 'lineage'
  | 'diff'
  | 'cancel'
  | 'retry'
  | 'signal'
  | 'rewind'
  | 'fork';
