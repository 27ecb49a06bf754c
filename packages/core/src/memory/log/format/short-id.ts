/** Returns a random name for written records. */
export function shortId(): string {
  return crypto.randomUUID().slice(0, 18);
}
