const ENTITIES: Readonly<Record<string, string>> = {
  '&quot;': '"',
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&#39;': "'",
};
const decoded = (text: string): string =>
  text.replaceAll(/&(quot|amp|lt|gt|#39);/g, (entity) => ENTITIES[entity] ?? entity);

const attribute = (tag: string, name: string): string | undefined => {
  const found = new RegExp(`\\s${name}(?:="([^"]*)")?(?=[\\s>])`).exec(tag);
  return found ? decoded(found[1] ?? '') : undefined;
};

/** What a browser submits if the user changes nothing in the form of a decision, without the button. */
export function submittedFields(page: string): Record<string, string> {
  const form = /<form method="post"[\s\S]*?<\/form>/.exec(page)?.[0] ?? '';
  const fields: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const [type, name = ''] = [attribute(tag, 'type'), attribute(tag, 'name')];
    const isButton = type === 'radio' || type === 'checkbox';
    if (isButton && attribute(tag, 'checked') === undefined) continue;
    fields[name] = attribute(tag, 'value') ?? 'on';
  }
  for (const [tag, text = ''] of form.matchAll(/<textarea[^>]*>\n?([\s\S]*?)<\/textarea>/g))
    fields[attribute(tag, 'name') ?? ''] = decoded(text).replaceAll(/\r?\n/g, '\r\n');
  for (const [tag, options = ''] of form.matchAll(/<select[^>]*>([\s\S]*?)<\/select>/g)) {
    const selected = /<option value="([^"]*)" selected>/.exec(options) ?? /<option value="([^"]*)"/.exec(options);
    fields[attribute(tag, 'name') ?? ''] = selected?.[1] ?? '';
  }
  return fields;
}

/** The ids of the elements that describe the field with a name. */
export const describedBy = (page: string, name: string): string =>
  attribute(
    new RegExp(`<(?:input|textarea|select)[^>]*\\sname="${name}"[^>]*>`).exec(page)?.[0] ?? '',
    'aria-describedby',
  ) ?? '';
