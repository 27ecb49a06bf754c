/** Returns whether two values are the same as JSON. React can keep what it shows of equal parts. */
export function isEqual(one: unknown, other: unknown): boolean {
  return (
    one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other))
  );
}
