import { attachEditors } from './editors.ts';
import { keepInboxCount } from './inbox-count.ts';
import { sendLocalTimes } from './local-times.ts';
import { loadParts } from './parts.ts';
import { pollForChanges } from './poll-for-changes.ts';
import { attachSearchForms } from './search-forms.ts';
import { countSelections } from './selections.ts';
import { updateTimes } from './times.ts';

// Pages work without this script. It keeps them up to date and loads sections in place.
updateTimes(document);
setInterval(() => updateTimes(document), 15_000);
attachEditors();
attachSearchForms();
countSelections();
sendLocalTimes();
loadParts(document);
keepInboxCount();
void pollForChanges();
