import { invalidInput } from '../../core/invalid-input.ts';
import { STATUSES, type Status } from '../../core/status.ts';
import { checkField, checkText, isRecord, type SaveFields } from './save-fields.ts';

/** Rejects invalid fields before anything is written. */
export async function checkSaveFields(input: SaveFields): Promise<void> {
  if (!isRecord(input)) throw invalidInput('The input of a save', 'an object', input);
  const { step, stepNumber, status, toolResults, forgetToolResults, model, writeId, agent } = input;
  checkText('step', step, 1000);
  checkText('writeId', writeId);
  checkText('agent', agent);
  checkField(
    'stepNumber',
    stepNumber,
    'a whole number from 0',
    Number.isSafeInteger(stepNumber) && Number(stepNumber) >= 0,
  );
  checkField('status', status, `one of ${STATUSES.join(', ')}`, STATUSES.includes(status as Status));
  checkField('toolResults', toolResults, 'an object of results by call id', isRecord(toolResults));
  checkField('model', model, 'an object of parameters', isRecord(model));
  const hasValidIds = Array.isArray(forgetToolResults) && forgetToolResults.every((id) => typeof id === 'string');
  checkField(
    'forgetToolResults',
    forgetToolResults,
    'true or a list of call ids',
    forgetToolResults === true || hasValidIds,
  );
  if (RUN_FIELDS.some((field) => input[field] !== undefined)) (await importRunFields()).checkRunFields(input);
}

const RUN_FIELDS = ['labels', 'owner', 'requestedBy', 'tags', 'retention', 'name', 'parent'] as const;

// Loaded on first use, to keep the cold start short: most saves have none of these fields.
export const importRunFields = () => import('./check-run-fields.ts');
