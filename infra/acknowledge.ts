import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Answers rules of security checks that do not fit a construct, each with the reason. */
export function acknowledge(construct: IConstruct, reasons: Readonly<Record<string, string>>): void {
  Validations.of(construct).acknowledge(...Object.entries(reasons).map(([id, reason]) => ({ id, reason })));
}
