import {
  GatewayVpcEndpointAwsService,
  type IConnectable,
  type IInterfaceVpcEndpoint,
  InterfaceVpcEndpoint,
  InterfaceVpcEndpointAwsService,
  type IVpc,
  type SubnetSelection,
} from 'aws-cdk-lib/aws-ec2';
import { Construct } from 'constructs';
import { omitUndefined } from '../lambda/core/omit-undefined.ts';

const GATEWAYS = { dynamodb: GatewayVpcEndpointAwsService.DYNAMODB, s3: GatewayVpcEndpointAwsService.S3 };

const INTERFACES = {
  lambda: InterfaceVpcEndpointAwsService.LAMBDA,
  events: InterfaceVpcEndpointAwsService.EVENTBRIDGE,
  sns: InterfaceVpcEndpointAwsService.SNS,
  kms: InterfaceVpcEndpointAwsService.KMS,
};

/** A service that the functions call. */
export type VpcEndpointService = keyof typeof GATEWAYS | keyof typeof INTERFACES;

/** Whether an endpoint of a service is free of charge: gateways are, interfaces are not. */
const isGateway = (service: VpcEndpointService): service is keyof typeof GATEWAYS => service in GATEWAYS;

/** The VPC endpoints of services, through which functions without internet access call them. */
export class VpcEndpoints extends Construct {
  readonly interfaces: readonly IInterfaceVpcEndpoint[];

  constructor(
    scope: Construct,
    id: string,
    options: {
      readonly vpc: IVpc;
      readonly subnets: SubnetSelection | undefined;
      readonly services: readonly VpcEndpointService[];
    },
  ) {
    super(scope, id);
    const { vpc, subnets, services } = options;
    for (const service of services.filter(isGateway))
      vpc.addGatewayEndpoint(`${this.node.path.replaceAll('/', '-')}-${service}`, {
        service: GATEWAYS[service],
        ...(subnets && { subnets: [subnets] }),
      });
    this.interfaces = services
      .filter((service) => !isGateway(service))
      .map(
        (service) =>
          new InterfaceVpcEndpoint(this, service, {
            vpc,
            service: INTERFACES[service],
            // Only the functions may connect.
            open: false,
            ...omitUndefined({ subnets }),
          }),
      );
  }

  /** Lets a function connect to the endpoints. */
  allowFrom(fn: IConnectable): void {
    for (const endpoint of this.interfaces) endpoint.connections.allowDefaultPortFrom(fn);
  }
}
