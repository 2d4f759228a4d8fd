/** Installs a folder's packages unless its current lock file is installed already. */
export function install(folder: string, ...npmArgs: readonly string[]): void;
