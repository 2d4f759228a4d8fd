import { Aws } from 'aws-cdk-lib';
import type { IUserPool, IUserPoolClient } from 'aws-cdk-lib/aws-cognito';

/** The issuer and audience of the tokens of a Cognito user pool; an id token has the claims that name people. */
export const cognitoIssuer = (pool: IUserPool, clients: readonly IUserPoolClient[]) => ({
  issuer: `https://cognito-idp.${Aws.REGION}.${Aws.URL_SUFFIX}/${pool.userPoolId}`,
  audience: clients.map(({ userPoolClientId }) => userPoolClientId),
});
