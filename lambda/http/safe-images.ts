/** The endings of pictures that every browser draws and none runs, by their types. SVG is a document with scripts. */
export const SAFE_IMAGE_EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/avif', 'avif'],
]);
