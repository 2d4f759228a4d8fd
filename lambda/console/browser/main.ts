import { attachEditors } from './editors.ts';
import { loadParts } from './parts.ts';
import { pollForChanges } from './poll-for-changes.ts';
import { updateTimes } from './times.ts';

// Pages are whole without this script: it keeps them fresh, and saves some ways.
updateTimes(document);
setInterval(() => updateTimes(document), 15_000);
attachEditors();
loadParts(document);
void pollForChanges();
