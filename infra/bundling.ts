/** How code is bundled for Lambda: as a module, small, and with a source map that has no sources in it. */
export const ESM_OPTIONS = {
  target: 'node24',
  minify: true,
  sourcesContent: false,
  // The modules of the AWS SDK are half as large as its CommonJS.
  mainFields: ['module', 'main'],
};

/** What is CommonJS in a bundle asks for a require. */
export const REQUIRE_BANNER =
  "import{createRequire as waitstateRequire}from'node:module';const require=waitstateRequire(import.meta.url);";
