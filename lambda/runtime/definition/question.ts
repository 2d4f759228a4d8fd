import type { Person } from '../../core/approval.ts';
import type { Choice } from '../../core/forms/question-schema.ts';
import type { ApprovalOptions, Facts } from './approval-options.ts';
import type { StandardSchema } from './standard-schema.ts';

export type { Choice, ChoiceValue } from '../../core/forms/question-schema.ts';

/** The options of every question; it also has exactly one of `choices`, `text` and `answer`. */
export interface QuestionOptions<F extends Facts | undefined = Facts | undefined>
  extends Omit<ApprovalOptions<never, NonNullable<F>>, 'editable' | 'onTimeout' | 'facts'> {
  readonly facts?: F;
  /** What happens when nobody answers in time. @default 'reject' */
  readonly onTimeout?: 'reject' | 'fail' | 'escalate';
}

/** A question with choices. */
interface ChoiceQuestion<C extends readonly Choice[] = readonly Choice[]> {
  /** 2 to 100 values, or values with labels. */
  readonly choices: C;
  /** Whether people can choose several of them. @default false */
  readonly multiple?: boolean;
  readonly text?: undefined;
  readonly answer?: undefined;
}

/** A question that is answered with text. */
interface TextQuestion {
  /** `true`, or the most characters; at most 16,000. A field for more than 200 has several lines. @default 10,000 */
  readonly text: true | { readonly maxLength?: number };
  readonly choices?: undefined;
  readonly multiple?: undefined;
  readonly answer?: undefined;
}

/** A question that is answered with a form. */
interface FormQuestion<T = unknown> {
  /** The schema of the answer. People get a form if the library can convert it to JSON Schema, or else a JSON field. */
  readonly answer: StandardSchema<unknown, T>;
  readonly choices?: undefined;
  readonly multiple?: undefined;
  readonly text?: undefined;
}

/** The value of a choice. */
type ChosenValue<C> = C extends { readonly value: infer V } ? V : C;

interface AnswerDetails<F extends Facts | undefined> {
  /** The people who answered, or who declined. */
  readonly by: readonly Person[];
  /** Those of them who answered for someone who is away, and for whom. */
  readonly delegated?: readonly { readonly by: Person; readonly for: Person }[];
  readonly comment?: string;
  readonly at: Date;
  /** How many times the question was asked; more than 1 when the facts changed or an answer was invalid. */
  readonly requestCount: number;
  /** The SHA-256 of the question and its answer. */
  readonly contentHash?: string;
  /** The facts that the answer is based on: those of the last request. */
  readonly facts: F;
}

/** The answer to a question, or why there is none. */
export type Answer<T = unknown, F extends Facts | undefined = Facts | undefined> =
  | (AnswerDetails<F> & { readonly answered: true; readonly status: 'APPROVED'; readonly answer: T })
  | (AnswerDetails<F> & {
      readonly answered: false;
      readonly status: 'REJECTED' | 'EXPIRED' | 'WITHDRAWN' | 'CHANGED';
      readonly answer?: undefined;
    });

/** `ctx.ask`. */
export interface Ask {
  <const C extends readonly Choice[], F extends Facts | undefined = undefined>(
    name: string,
    options: QuestionOptions<F> & ChoiceQuestion<C> & { readonly multiple: true },
  ): Promise<Answer<readonly ChosenValue<C[number]>[], F>>;
  <const C extends readonly Choice[], F extends Facts | undefined = undefined>(
    name: string,
    options: QuestionOptions<F> & ChoiceQuestion<C> & { readonly multiple?: false },
  ): Promise<Answer<ChosenValue<C[number]>, F>>;
  <F extends Facts | undefined = undefined>(
    name: string,
    options: QuestionOptions<F> & TextQuestion,
  ): Promise<Answer<string, F>>;
  <T, F extends Facts | undefined = undefined>(
    name: string,
    options: QuestionOptions<F> & FormQuestion<T>,
  ): Promise<Answer<T, F>>;
}
