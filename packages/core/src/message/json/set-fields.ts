/** An object whose fields are left out if they are `undefined`. */
type SetFields<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Returns the fields that are not `undefined`. */
export function setFields<T extends object>(fields: T = {} as T): SetFields<T> {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as SetFields<T>;
}
