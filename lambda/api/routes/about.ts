import * as z from 'zod';
import { omitUndefined } from '../../core/omit-undefined.ts';
import { ROLES } from '../../http/caller.ts';
import { ALL_ROLES } from '../../http/roles.ts';
import { protocolSchema } from '../protocol-schema.ts';
import { type Route, route } from '../route.ts';
import { namedSchema } from '../schemas/named.ts';
import { StringList } from '../schemas/values.ts';

const Me = namedSchema(
  'Me',
  z.strictObject({
    tenant: z.string(),
    person: z.string().optional(),
    groups: StringList,
    roles: z.array(z.enum(ROLES)),
    decidesForOthers: z.boolean(),
    startsForOthers: z.boolean().describe('Whether the caller may name who requests a run'),
  }),
);

/** Routes about the API itself and its caller; `describe` returns the OpenAPI document. */
export const aboutRoutes = (describe: () => object): readonly Route[] => [
  route({
    method: 'GET',
    path: '/api/openapi.json',
    access: ALL_ROLES,
    name: 'describe',
    summary: 'Get this OpenAPI 3.1 document',
    responses: { 200: { description: 'The OpenAPI document', schema: z.looseObject({ openapi: z.string() }) } },
    handle: async () => ({ status: 200, json: describe() }),
  }),
  route({
    method: 'GET',
    path: '/api/protocol.json',
    access: ALL_ROLES,
    name: 'describeProtocol',
    summary: 'Get the JSON Schema of what agents in other languages receive',
    responses: { 200: { description: 'The JSON Schema', schema: z.looseObject({ $id: z.string() }) } },
    handle: async () => ({ status: 200, json: protocolSchema() }),
  }),
  route({
    method: 'GET',
    path: '/api/me',
    access: ALL_ROLES,
    name: 'whoAmI',
    summary: 'Get the caller: tenant, person, groups and roles',
    responses: { 200: { description: 'The caller', schema: Me } },
    async handle({ caller: { tenant, person, groups, roles, decidesForOthers, startsForOthers } }) {
      return {
        status: 200,
        json: {
          tenant,
          ...omitUndefined({ person }),
          groups,
          roles: [...roles],
          decidesForOthers,
          startsForOthers: decidesForOthers || startsForOthers === true,
        },
      };
    },
  }),
];
