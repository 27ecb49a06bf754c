/** Returns whether two values are the same as JSON. React can keep what it shows of equal parts. */
export function isEqual(one: unknown, other: unknown): boolean {
  return (
    one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other))
  );
}

/** Returns the state with the changes. Without a change, it stays the same object. */
export function withChanges<State extends object>(state: State, changes: Partial<State>): State {
  const names = Object.keys(changes) as (keyof State)[];
  const isChange = names.some((name) => changes[name] !== state[name]);
  return isChange ? { ...state, ...changes } : state;
}
