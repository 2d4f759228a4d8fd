import type { IUserPool, IUserPoolClient } from 'aws-cdk-lib/aws-cognito';
import type { JwtProps } from './waitstate-props.ts';

/**
 * The issuer and audience of a Cognito user pool. Callers send the id token, which has the claims that identify people.
 */
export const cognitoIssuer = (
  pool: IUserPool,
  clients: readonly IUserPoolClient[],
): Pick<JwtProps, 'issuer' | 'audience'> => ({
  issuer: `https://${pool.userPoolProviderName}`,
  audience: clients.map(({ userPoolClientId }) => userPoolClientId),
});
