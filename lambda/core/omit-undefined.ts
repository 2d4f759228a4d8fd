/** A copy of an object without its undefined fields. */
export const omitUndefined = <T extends object>(fields: T): { [F in keyof T]?: Exclude<T[F], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
