import { pathId } from '../path-id.ts';

/** Where a run is found. */
export const at = (run: string): { readonly location: string } => ({ location: `/api/runs/${pathId(run)}` });

/** The same, described. */
export const LOCATION = { location: 'Where the run is' };
