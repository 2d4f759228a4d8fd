// The front door for layers that show documents to people. It is apart from `engine.ts`, so that agents do not load it.

export { compare } from './document/compare.ts';
export { render, show } from './document/render.ts';
