/**
 * Names a value that tools get from their surroundings: a database, the user. Two tokens are the
 * same only if they are one object.
 */
export interface ContextToken<T> {
  readonly name: string;
  /** Keeps tokens of different types apart; never there. */
  readonly of?: (value: T) => T;
}

/** A token and its value, for the `context` of an agent or a call. */
export type ContextEntry = readonly [token: object, value: unknown];

/** A new token (AgentScope: `ToolExecutionContext`, by token instead of by class). */
export function contextToken<T>(name: string): ContextToken<T> {
  return { name };
}

/** Gives a token its value. */
export function provide<T>(token: ContextToken<T>, value: T): ContextEntry {
  return [token, value];
}
