import * as z from 'zod';
import { present } from '../../core/omit-undefined.ts';
import { ROLES } from '../../http/caller.ts';
import { ANYBODY } from '../../http/roles.ts';
import { type Route, route } from '../route.ts';
import { named } from '../schemas/named.ts';
import { Texts } from '../schemas/values.ts';

const Me = named(
  'Me',
  z.strictObject({
    tenant: z.string(),
    person: z.string().optional(),
    groups: Texts,
    roles: z.array(z.enum(ROLES)),
    answersForOthers: z.boolean(),
  }),
);

/** What the API says of itself and of the caller; `describe` gives its description. */
export const aboutRoutes = (describe: () => object): readonly Route[] => [
  route({
    ...{ method: 'GET', path: '/api/openapi.json', may: ANYBODY, name: 'describe' },
    summary: 'This description, in OpenAPI 3.1',
    answers: { 200: { description: 'The description', schema: z.looseObject({ openapi: z.string() }) } },
    handle: async () => ({ status: 200, json: describe() }),
  }),
  route({
    ...{ method: 'GET', path: '/api/me', may: ANYBODY, name: 'whoAmI' },
    summary: 'Who calls, as it is known here',
    answers: { 200: { description: 'The caller', schema: Me } },
    async handle({ caller: { tenant, person, groups, roles, answersForOthers } }) {
      return { status: 200, json: { tenant, ...present({ person }), groups, roles: [...roles], answersForOthers } };
    },
  }),
];
