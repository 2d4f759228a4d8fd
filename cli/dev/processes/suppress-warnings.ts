/**
 * Leaves out what Node warns of when the kind of a module is not clear: a file that does not load for it is told with what
 * to do, and one that loads needs no warning in every process. Warnings of others are shown as ever.
 */
export function suppressModuleTypeWarnings(): void {
  const others = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (isModuleTypeWarning(warning)) return;
    for (const listener of others) listener(warning);
  });
}

const isModuleTypeWarning = (warning: Error): boolean =>
  Object(warning).code === 'MODULE_TYPELESS_PACKAGE_JSON' ||
  warning.message.startsWith('Failed to load the ES module:');
