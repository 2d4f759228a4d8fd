/** Sends the offset of the reader's time zone with each time of a form, and names the zone. */
export function sendLocalTimes(): void {
  for (const zone of document.querySelectorAll('[data-zone]')) zone.textContent = 'your time zone';
  addEventListener('submit', ({ target }) => {
    if (!(target instanceof HTMLFormElement)) return;
    for (const { name, value } of target.querySelectorAll<HTMLInputElement>('input[data-local]')) {
      const offset = new Date(value).getTimezoneOffset();
      if (Number.isNaN(offset)) continue;
      const field =
        target.querySelector<HTMLInputElement>(`input[name="${name}-offset"]`) ?? document.createElement('input');
      Object.assign(field, { type: 'hidden', name: `${name}-offset`, value: String(offset) });
      target.append(field);
    }
  });
}
