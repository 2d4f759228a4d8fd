import * as z from 'zod';
import { parseJsonVariable, throwInvalidVariable } from '../environment/invalid-variable.ts';
import { ENVIRONMENT } from '../environment/names.ts';
import type { IamCaller, JwtCallers } from '../http/authorizer-caller.ts';
import { ROLES } from '../http/caller.ts';

const Text = z.string().min(1);
const Roles = z.array(z.enum(ROLES));

const Claims = z.strictObject({
  rolesClaim: Text,
  roles: z.record(Text, Roles).optional(),
  personClaim: Text.optional(),
  groupsClaim: Text.optional(),
});

const Jwt = z.union([Claims.extend({ tenant: Text }), Claims.extend({ tenantClaim: Text })]);

const Iam = z.record(
  z.string().startsWith('arn:'),
  z.strictObject({
    tenant: Text,
    roles: Roles,
    person: z.templateLiteral(['user:', Text]).optional(),
    personFromSession: z.boolean().optional(),
    groups: z.array(z.string().startsWith('group:')).optional(),
    decidesForOthers: z.boolean().optional(),
    startsForOthers: z.boolean().optional(),
  }),
);

/** Parses `WAITSTATE_JWT_CALLERS`, the claims that identify a caller. */
export const readJwtCallers = (text: string): JwtCallers =>
  readValidated(
    ENVIRONMENT.jwtCallers,
    Jwt,
    '{"tenantClaim": "custom:tenant", "rolesClaim": "cognito:groups", "roles": {"ops": ["operator"]}, "personClaim": "email", "groupsClaim": "cognito:groups"} as JSON, with `tenant` or `tenantClaim`',
    text,
  );

/** Parses `WAITSTATE_IAM_CALLERS`, the callers by ARN. */
export const readIamCallers = (text: string): Readonly<Record<string, IamCaller>> =>
  readValidated(
    ENVIRONMENT.iamCallers,
    Iam,
    '{"arn:aws:sts::111122223333:assumed-role/Ops/*": {"tenant": "default", "roles": ["operator"]}} as JSON',
    text,
  );

function readValidated<S extends z.ZodType>(name: string, schema: S, expected: string, text: string): z.infer<S> {
  const result = schema.safeParse(parseJsonVariable(name, expected, text));
  return result.success ? result.data : throwInvalidVariable(name, expected, text);
}
