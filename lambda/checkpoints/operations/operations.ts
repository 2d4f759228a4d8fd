// All operations on a run from outside its agent, in one module that is loaded on first use.

export { rotateKey, shred } from '../encryption/rotate-and-shred.ts';
export { history } from '../lists/history.ts';
export { listRuns, readRunSummary } from '../lists/runs.ts';
export { collect } from './collect.ts';
export { deleteRun, sweep, sweepRun } from './delete.ts';
export { diffCheckpoints } from './diff.ts';
export { loadNewestWithin } from './load-within.ts';
export { prune } from './prune.ts';
export { continueCollection } from './scheduled-collection.ts';
export { fork, forkId, parseForkRecord, redo, rewind, undo } from './time-travel.ts';
export { verify } from './verify.ts';
