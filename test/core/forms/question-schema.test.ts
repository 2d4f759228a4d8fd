import { describe, expect, test } from 'vitest';
import { type QuestionTerms, sortSelection, toAnswerSchema } from '../../../lambda/core/forms/question-schema.ts';

const refused = (terms: unknown): string => {
  try {
    return JSON.stringify(toAnswerSchema(terms as QuestionTerms));
  } catch (error) {
    return (error as Error).message;
  }
};

describe('a question', () => {
  test('accepts one of the values of its choices', () => {
    expect(toAnswerSchema({ choices: ['window', 'aisle'] })).toEqual({
      type: 'string',
      oneOf: [
        { const: 'window', title: 'window' },
        { const: 'aisle', title: 'aisle' },
      ],
    });
    expect(toAnswerSchema({ choices: [{ value: 1, label: 'One', description: 'Only one' }, true] })).toEqual({
      oneOf: [
        { const: 1, title: 'One', description: 'Only one' },
        { const: true, title: 'true' },
      ],
    });
  });

  test('has several choices in its own order', () => {
    const schema = toAnswerSchema({ choices: ['a', 'b', 'c'], multiple: true });
    expect(schema).toMatchObject({ type: 'array', minItems: 1, uniqueItems: true });
    expect(sortSelection(schema, ['c', 'a'])).toEqual(['a', 'c']);
    expect(sortSelection({ type: 'array', items: { enum: ['a', 'b'] } }, ['b', 'a'])).toEqual(['b', 'a']);
  });

  test('limits the length of text', () => {
    expect(toAnswerSchema({ text: true })).toEqual({ type: 'string', minLength: 1, maxLength: 10_000 });
    expect(toAnswerSchema({ text: { maxLength: 80 } })).toMatchObject({ maxLength: 80 });
  });

  test.each<[unknown, string]>([
    [{}, 'exactly one of `choices`, `text` and `answer`; found "none of them"'],
    [{ choices: ['a', 'b'], text: true }, 'found "choices and text"'],
    [{ choices: ['a'] }, 'a list of 2 to 100 choices'],
    [{ choices: Array.from({ length: 101 }, (_, i) => i) }, 'a list of 2 to 100 choices'],
    [{ choices: 'ab' }, 'a list of 2 to 100 choices'],
    [{ choices: ['a', 'a'] }, 'people can tell apart; found "a"'],
    [{ choices: ['a', 'a '] }, 'people can tell apart; found "a "'],
    [{ choices: ['a b', 'a\u00a0 b'] }, 'people can tell apart'],
    [{ choices: ['ab', 'a\u200bb'] }, 'people can tell apart'],
    [
      {
        choices: [
          { value: 1, label: 'x' },
          { value: 2, label: 'x' },
        ],
      },
      'people can tell apart; found "x"',
    ],
    [{ choices: ['a', ''] }, 'text, a number or a boolean'],
    [{ choices: ['a', ' '] }, 'The `label` of a choice must be text of 1 to 200 characters'],
    [{ choices: ['a', null] }, 'text, a number or a boolean'],
    [{ choices: ['a', Number.NaN] }, 'text, a number or a boolean'],
    [{ choices: ['a', '\ud800'] }, 'text, a number or a boolean'],
    [{ choices: [{ value: 'a' }, 'b'] }, 'The `label` of a choice'],
    [{ choices: [{ value: 'a', label: 'A', description: '' }, 'b'] }, 'The `description` of a choice'],
    [
      { choices: Array.from({ length: 100 }, (_, i) => ({ value: `${i}`.repeat(200), label: `${i}` })) },
      'at most 16 KB',
    ],
    [{ text: { maxLength: 0 } }, '{ maxLength } from 1 to 16000'],
    [{ text: false }, '{ maxLength } from 1 to 16000'],
    [{ text: true, multiple: true }, '`multiple` must be true or false, and given with `choices`'],
    [{ answerSchema: true }, '`answerSchema` must be a JSON Schema'],
  ])('is refused if its terms are %j', (terms, message) => {
    expect(refused(terms)).toContain(message);
  });

  test('can have choices that differ by case, which people can see', () => {
    expect(refused({ choices: ['a', 'A'] })).toContain('oneOf');
  });
});
