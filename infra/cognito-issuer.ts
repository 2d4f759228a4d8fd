import type { IUserPool, IUserPoolClient } from 'aws-cdk-lib/aws-cognito';
import type { JwtProps } from './waitstate-props.ts';

/** The issuer and audience of the tokens of a Cognito user pool; an id token has the claims that name people. */
export const cognitoIssuer = (
  pool: IUserPool,
  clients: readonly IUserPoolClient[],
): Pick<JwtProps, 'issuer' | 'audience'> => ({
  issuer: `https://${pool.userPoolProviderName}`,
  audience: clients.map(({ userPoolClientId }) => userPoolClientId),
});
