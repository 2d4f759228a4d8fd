import { isSupportedNode, NODE } from '../../node-version.ts';
import { type Finding, fail, ok } from './finding.ts';

/** Whether this Node can run Waitstate. */
export const checkNode = (version: string): Finding =>
  isSupportedNode(version)
    ? ok('node', version)
    : fail('node', `${version}; version ${NODE.minVersion} or later is required`, NODE.advice);
