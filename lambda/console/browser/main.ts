import { checkEditors } from './editors.ts';
import { follow } from './follow.ts';
import { loadParts } from './parts.ts';
import { tellTimes } from './times.ts';

// Pages are whole without this script: it keeps them fresh, and saves some ways.
tellTimes(document);
setInterval(() => tellTimes(document), 15_000);
checkEditors();
loadParts(document);
void follow();
