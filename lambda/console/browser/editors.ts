import { findJsonError, formatJsonError } from '../../core/json-error-position.ts';

/** Says where JSON is wrong while it is written, and keeps forms from being sent with it, or twice. */
export function attachEditors(): void {
  for (const editor of document.querySelectorAll<HTMLTextAreaElement>('textarea.json')) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    editor.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => check(editor), 400);
    });
  }
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-fill]')) {
    button.hidden = false;
    button.addEventListener('click', () => fill(button));
  }
  for (const form of document.querySelectorAll('form')) {
    form.addEventListener('submit', (event) => {
      const wrong = [...form.querySelectorAll<HTMLTextAreaElement>('textarea.json')].find((editor) => !check(editor));
      if (form.ariaBusy === 'true' || wrong) event.preventDefault();
      else form.ariaBusy = 'true';
      if (wrong) show(wrong);
    });
  }
  // Who comes back to a page can send its forms again.
  addEventListener('pageshow', () => {
    for (const form of document.querySelectorAll('form')) form.ariaBusy = null;
  });
}

/** Whether an editor holds JSON, or nothing where nothing is needed; says what is wrong beside it. */
function check(editor: HTMLTextAreaElement): boolean {
  const isEmpty = editor.value.trim() === '' && !editor.required;
  const mistake = isEmpty ? undefined : findJsonError(editor.value);
  const place = document.getElementById(`${editor.id}-wrong`);
  const words = mistake ? formatJsonError(mistake) : '';
  if (place && place.textContent !== words) place.textContent = words;
  editor.ariaInvalid = mistake ? 'true' : null;
  return !mistake;
}

/** Opens what an editor is folded in, and puts the cursor where it is wrong. */
function show(editor: HTMLTextAreaElement): void {
  const fold = editor.closest('details');
  if (fold) fold.open = true;
  editor.focus();
  const mistake = findJsonError(editor.value);
  if (!mistake) return;
  const lines = editor.value.split('\n').slice(0, mistake.line - 1);
  const at = lines.reduce((sum, line) => sum + line.length + 1, 0) + mistake.column - 1;
  editor.setSelectionRange(at, at + 1);
}

function fill(button: HTMLButtonElement): void {
  const editor = document.querySelector<HTMLTextAreaElement>(`#${button.dataset.fill}`);
  const source = document.getElementById(`${button.dataset.fill}-source`);
  if (!editor || !source) return;
  editor.value = source.textContent ?? '';
  check(editor);
  editor.focus();
}
