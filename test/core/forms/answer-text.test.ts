import { describe, expect, test } from 'vitest';
import { parseAnswerText } from '../../../lambda/core/forms/answer-text.ts';
import { toAnswerSchema } from '../../../lambda/core/forms/question-schema.ts';

describe('an answer that is written as text', () => {
  const tags = { type: 'array', items: { type: 'string' } };

  test.each([
    ['a,b', ['a', 'b']],
    ['a, b', ['a', 'b']],
    ['["a","b, c"]', ['a', 'b, c']],
    ['[draft], b', ['[draft]', 'b']],
  ])('can be a list of texts, separated by commas or as JSON, such as %s', (text, expected) => {
    expect(parseAnswerText(tags, text)).toEqual(expected);
  });

  test('names several choices by value or label, also those with a comma', () => {
    const choices = ['vegan', { value: 'fish', label: 'Fish, grilled' }];
    const schema = toAnswerSchema({ choices, multiple: true });
    expect(parseAnswerText(schema, 'fish, vegan')).toEqual(['vegan', 'fish']);
    expect(parseAnswerText(schema, '["Fish, grilled"]')).toEqual(['fish']);
    expect(() => parseAnswerText(schema, '["meat"]')).toThrow(/some of "vegan", "fish"/);
  });
});
