import { pathId } from '../../http/path-id.ts';

/** The header that says where a run is found. */
export const locationOf = (run: string): { readonly location: string } => ({ location: `/api/runs/${pathId(run)}` });

/** The same, described. */
export const LOCATION = { location: 'Where the run is' };
