import { encodePathId } from '../../http/path-id.ts';

/** The header that says where a run is found. */
export const locationHeader = (run: string): { readonly location: string } => ({
  location: `/api/runs/${encodePathId(run)}`,
});

/** The same, described. */
export const LOCATION_DESCRIPTION = { location: 'Where the run is' };
