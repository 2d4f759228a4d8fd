import { fileURLToPath } from 'node:url';
import { Duration, type Stack } from 'aws-cdk-lib';
import { ArnPrincipal, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Architecture, type IFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { grantExamplesTable, newExamplesTable } from '../../../infra/example-stack.ts';
import { Waitstate } from '../../../infra/index.ts';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const ORDERS = { entry: at('./agents/orders.ts') };

/** With defaults: a test agent, an example agent, an agent in another language, and a role for each permission. */
function plain(stack: Stack): void {
  const waitstate = new Waitstate(stack, 'Waitstate', { retention: Duration.days(90) });
  const table = newExamplesTable(stack);
  const entry = at('../../../examples/refunds/agent.ts');
  grantExamplesTable(table, waitstate.addAgent('refunds', { entry, environment: { EXAMPLES_TABLE: table.tableName } }));
  waitstate.addAgent('orders', ORDERS);
  waitstate.addAgent('quotes', { function: quotes(stack), hydrate: true });
  waitstate.grantStart(role(stack, 'Shop'));
  waitstate.grantApprove(role(stack, 'Portal'));
  waitstate.grantRead(role(stack, 'Viewer'));
  waitstate.grantOperate(role(stack, 'Operator'));
  waitstate.grantAdminister(role(stack, 'Administrator'));
}

/** With two tenants, and agents that are restricted to one of them. */
function tenants(stack: Stack): void {
  const waitstate = new Waitstate(stack, 'Waitstate', { tenants: ['acme', 'globex'] });
  waitstate.addAgent('orders', { ...ORDERS, tenant: 'acme' });
  waitstate.addAgent('quotes', { function: quotes(stack), hydrate: true, tenant: 'acme' });
  for (const tenant of ['acme', 'globex']) waitstate.grantOperate(role(stack, `Operator-${tenant}`), { tenant });
  waitstate.grantAdminister(role(stack, 'Administrator'));
  waitstate.grantAdminister(role(stack, 'Administrator-acme'), { tenant: 'acme' });
}

/** With every option that affects functions or roles. */
function everything(stack: Stack): void {
  const waitstate = new Waitstate(stack, 'Waitstate', {
    retention: Duration.days(90),
    tenants: ['acme'],
    encryptionKey: new Key(stack, 'KeyAtRest'),
    runKey: new Key(stack, 'RunKey'),
    acceptUnencrypted: true,
    versioned: true,
    corsOrigins: ['https://portal.example.com'],
    jwt: {
      issuer: 'https://issuer.example.com',
      audience: ['people'],
      tenant: 'acme',
      rolesClaim: 'groups',
      roles: { ops: ['operator'], staff: ['approver'] },
      personClaim: 'email',
    },
  });
  waitstate.addAgent('orders', ORDERS);
  waitstate.addAgent('quotes', { function: quotes(stack), hydrate: true });
  waitstate.grantOperate(role(stack, 'Operator'));
  waitstate.grantAdminister(role(stack, 'Administrator'));
}

export const STACKS = { plain, tenants, everything };

const role = (stack: Stack, id: string): Role =>
  new Role(stack, id, { assumedBy: new ArnPrincipal('arn:aws:iam::111122223333:root') });

/** A function of a user. */
function quotes(stack: Stack): IFunction {
  const logGroup = new LogGroup(stack, 'QuotesLog');
  const own = new Role(stack, 'QuotesRole', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  logGroup.grantWrite(own);
  return new NodejsFunction(stack, 'Quotes', {
    entry: at('./agents/quotes.mjs'),
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    timeout: Duration.seconds(60),
    memorySize: 256,
    role: own,
    logGroup,
    awsSdkConnectionReuse: false,
    bundling: { format: OutputFormat.ESM, bundleAwsSDK: true, mainFields: ['module', 'main'], banner: BANNER },
  });
}

const BANNER = "import{createRequire as quotesRequire}from'node:module';const require=quotesRequire(import.meta.url);";
