import { encodePathId } from '../../http/path-id.ts';

/** The `Location` header of a run. */
export const locationHeader = (run: string): { readonly location: string } => ({
  location: `/api/runs/${encodePathId(run)}`,
});

/** Its description for OpenAPI. */
export const LOCATION_DESCRIPTION = { location: 'The URL of the run' };
