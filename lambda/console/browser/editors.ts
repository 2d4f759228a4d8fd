import { findJsonError, formatJsonError } from '../../core/json-error-position.ts';

/** Reports JSON errors while the user types, and blocks submitting invalid JSON or the same form twice. */
export function attachEditors(): void {
  for (const editor of document.querySelectorAll<HTMLTextAreaElement>('textarea.json')) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    editor.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => validateEditor(editor), 400);
    });
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-fill]')) {
    button.hidden = false;
    button.addEventListener('click', () => fillEditor(button));
  }
  for (const form of document.querySelectorAll('form')) {
    form.addEventListener('submit', (event) => {
      // Someone who rejects need not correct what they had entered.
      const isRejecting = event.submitter instanceof HTMLButtonElement && event.submitter.value === 'reject';
      const editors = isRejecting ? [] : form.querySelectorAll<HTMLTextAreaElement>('textarea.json');
      const invalid = [...editors].find((editor) => !validateEditor(editor));
      if (form.ariaBusy === 'true' || invalid) event.preventDefault();
      else form.ariaBusy = 'true';
      if (invalid) focusMistake(invalid);
    });
  }
  // After going back in history, forms can be submitted again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form')) form.ariaBusy = null;
  });
}

/** Whether an editor holds valid JSON, or is empty and optional; shows the error below it otherwise. */
function validateEditor(editor: HTMLTextAreaElement): boolean {
  const isEmpty = editor.value.trim() === '' && !editor.required;
  const mistake = isEmpty ? undefined : findJsonError(editor.value);
  const output = document.getElementById(`${editor.id}-wrong`);
  const message = mistake ? formatJsonError(mistake) : '';
  if (output && output.textContent !== message) output.textContent = message;
  editor.ariaInvalid = mistake ? 'true' : null;
  return !mistake;
}

/** Expands the section around an editor, and puts the cursor at the error. */
function focusMistake(editor: HTMLTextAreaElement): void {
  const fold = editor.closest('details');
  if (fold) fold.open = true;
  editor.focus();
  const mistake = findJsonError(editor.value);
  if (!mistake) return;
  const lines = editor.value.split('\n').slice(0, mistake.line - 1);
  const at = lines.reduce((sum, line) => sum + line.length + 1, 0) + mistake.column - 1;
  editor.setSelectionRange(at, at + 1);
}

function fillEditor(button: HTMLButtonElement): void {
  const editor = document.querySelector<HTMLTextAreaElement>(`#${button.dataset.fill}`);
  const source = document.getElementById(`${button.dataset.fill}-source`);
  if (!editor || !source) return;
  editor.value = source.textContent ?? '';
  validateEditor(editor);
  editor.focus();
}
