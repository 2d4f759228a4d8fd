// A CDK app with one resource, for tests of a deployment in which the resources do not matter.
import { App, CfnResource, Stack } from 'aws-cdk-lib';

const app = new App();
new CfnResource(new Stack(app, String(app.node.getContext('stack'))), 'Queue', { type: 'AWS::SQS::Queue' });
