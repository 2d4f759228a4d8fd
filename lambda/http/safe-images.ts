/** File extensions by media type of images that browsers draw and never execute. SVG is not one: it can hold scripts. */
export const SAFE_IMAGE_EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['image/png', 'png'],
  ['image/jpeg', 'jpg'],
  ['image/gif', 'gif'],
  ['image/webp', 'webp'],
  ['image/avif', 'avif'],
]);
