// Everything that is done to a run from outside of its agent; one module, so that it can be loaded at once and late.

export { rotateKey, shred } from '../encryption/rotate-and-shred.ts';
export { history } from '../history.ts';
export { listRuns, readRunSummary } from '../runs.ts';
export { collect } from './collect.ts';
export { deleteRun, sweep, sweepRun } from './delete.ts';
export { diffCheckpoints } from './diff.ts';
export { prune } from './prune.ts';
export { fork, forkId, parseForkRecord, redo, rewind, undo } from './time-travel.ts';
export { verify } from './verify.ts';
