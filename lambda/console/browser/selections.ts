const BOXES = 'input[type="checkbox"]';

/** Shows on the buttons of a form how many of its boxes are checked. */
export function countSelections(): void {
  addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement && target.form) updateCount(target.form);
  });
  // After going back in history, the browser restores the boxes.
  addEventListener('pageshow', () => updateCounts(document));
}

/** Checks the boxes of a new element that are checked in the one that it replaces; returns the box that had the focus. */
export function keepSelections(from: ParentNode, to: ParentNode): HTMLInputElement | undefined {
  const boxes = new Map([...to.querySelectorAll<HTMLInputElement>(BOXES)].map((box) => [box.value, box]));
  let focused: HTMLInputElement | undefined;
  for (const old of from.querySelectorAll<HTMLInputElement>(BOXES)) {
    const box = boxes.get(old.value);
    if (box) box.checked = old.checked;
    if (old === document.activeElement) focused = box;
  }
  return focused;
}

/** Updates the counts of all forms in an element. */
export function updateCounts(within: ParentNode): void {
  for (const form of within.querySelectorAll('form')) updateCount(form);
}

function updateCount(form: HTMLFormElement): void {
  const count = form.querySelectorAll(`${BOXES}:checked`).length;
  for (const button of form.querySelectorAll<HTMLButtonElement>('button[data-counted]'))
    button.textContent = (button.dataset.counted ?? '').replace('#', String(count));
}
