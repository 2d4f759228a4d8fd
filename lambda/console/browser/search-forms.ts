/** Makes the URL of a search short and its times local: the fields show local time, and the URL has UTC. */
export function attachSearchForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[role="search"]')) {
    const moments = [...form.querySelectorAll<HTMLInputElement>('input[data-utc]')];
    for (const input of moments) {
      input.value = toLocal(input.defaultValue);
      for (const zone of input.labels?.[0]?.querySelectorAll('[data-zone]') ?? []) zone.remove();
    }
    form.addEventListener('formdata', ({ formData }) => {
      for (const { name, value } of moments) formData.set(name, toUtc(value));
      for (const [name, value] of [...formData]) if (value === '') formData.delete(name);
    });
  }
}

const MINUTES = 16;

function toLocal(utc: string): string {
  const moment = new Date(`${utc}Z`);
  if (utc === '' || Number.isNaN(moment.getTime())) return '';
  return new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, MINUTES);
}

function toUtc(local: string): string {
  const moment = new Date(local);
  return local === '' || Number.isNaN(moment.getTime()) ? '' : moment.toISOString().slice(0, MINUTES);
}
