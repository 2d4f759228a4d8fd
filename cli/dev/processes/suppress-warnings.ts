/**
 * Suppresses Node's warnings about the module type of a file. If the file does not load, the log already says what to do;
 * if it loads, a warning in every process is noise. Other warnings are shown.
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
