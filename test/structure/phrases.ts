/** A phrase that the project no longer uses, and what to write instead. */
export interface RetiredPhrase {
  readonly pattern: RegExp;
  readonly instead: string;
}

const retired = (pattern: RegExp, instead: string): RetiredPhrase => ({ pattern, instead });

/** Phrases of a dialect that the project once had. Docs, UI texts, messages, comments and test names avoid them. */
export const RETIRED_PHRASES: readonly RetiredPhrase[] = [
  retired(/\b(is|are|was|were|be|been|being|gets?) (not )?told\b/i, 'notified, reported, logged'),
  retired(/\btells? (people|everybody|nobody|somebody|the log|the server)\b/i, 'notifies, logs, sends'),
  retired(/\b(goes|go|went|gone) on\b(?! (to|sale|holiday|call)\b)/i, 'continues, resumes'),
  retired(/\blets? go on\b/i, 'resumes'),
  retired(/\b(lies|lie|lay|lying) (down|there|by itself)\b/i, 'suspends, is suspended'),
  retired(/\bin vain\b/i, 'permanent, without effect'),
  retired(/\b(mends?|mended|mending)\b/i, 'fix, fixed'),
  retired(/\bgoes by itself\b/i, 'is deleted, expires'),
  retired(/\bof whom\b/i, 'whose, of the people who'),
  retired(/\bwhat nobody\b/i, 'a noun and a verb'),
  retired(/\bwho may\s*(['"`<|]|$)/i, 'permissions, approvers'),
  retired(/\banew\b/i, 'again'),
  retired(/\bso many\b/i, 'a number, at most'),
  retired(/\bthat is none\b|\bwhat is none\b|\bis no such\b/i, 'invalid, does not exist'),
  retired(/\bon (its|the) way to (its|the) end\b|\bcomes? to (its|an) end\b/i, 'ending, ends'),
  retired(/\b(takes?|took|taken) back\b/i, 'undo, undone, withdraw'),
  retired(/\b(held|holds|hold) still\b/i, 'changed, unchanged'),
  retired(/\blook(s|ed)? after\b/i, 'check, due'),
  retired(/\bagain and again\b/i, 'repeatedly'),
  retired(/\b(the|a|an operator's) desk\b/i, 'operator'),
  retired(/\bin (its|their|another|the right) place\b/i, 'the thing itself: index, option, position'),
  retired(/\b(is|are) said to\b/i, 'is'),
  retired(/\bsomebody else's\b/i, 'of another invocation, of another writer'),
  retired(/\bcomes? (back )?by itself\b/i, 'automatically'),
  retired(/\bwhoever comes\b|\bwho comes (second|first|late)\b/i, 'the second writer, the late one'),
  retired(/\bgives? (it|them|what it has) back\b(?= to)/i, 'returns'),
];

/** Places where a retired phrase is right: a file, and a part of the line. */
export const ALLOWED: readonly { readonly file: string; readonly text: string }[] = [];
