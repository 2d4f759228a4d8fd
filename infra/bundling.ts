/** The esbuild options for Lambda: a minified ES module, whose source map contains no sources. */
export const ESM_OPTIONS = {
  target: 'node24',
  minify: true,
  sourcesContent: false,
  // The ES modules of the AWS SDK are half the size of its CommonJS files.
  mainFields: ['module', 'main'],
};

/** Defines `require`, which CommonJS packages inside an ES module bundle call. */
export const REQUIRE_BANNER =
  "import{createRequire as waitstateRequire}from'node:module';const require=waitstateRequire(import.meta.url);";
