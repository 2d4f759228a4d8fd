// Everything that is done to a run from outside of its agent; one module, so that it can be loaded at once and late.
export { collect } from './collect.ts';
export { deleteRun, sweep } from './deletion.ts';
export { difference } from './difference.ts';
export { rotateKey, shred } from './encryption.ts';
export { history } from './history.ts';
export { prune } from './prune.ts';
export { runSummary, runs } from './runs.ts';
export { fork, forkId, redo, rewind, undo } from './travel.ts';
export { verify } from './verify.ts';
