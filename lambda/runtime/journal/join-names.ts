const MAX_NAMES_CHARACTERS = 256;

/** All names; those that do not fit are counted. */
export function joinNames(names: readonly string[], maxCharacters = MAX_NAMES_CHARACTERS): string {
  const join = (count: number): string =>
    names.slice(0, count).join(', ') + (count < names.length ? ` and ${names.length - count} more` : '');
  let count = names.length;
  while (count > 1 && join(count).length > maxCharacters) count -= 1;
  return join(count).slice(0, maxCharacters);
}
