/** Returns the size of a message's record in the log, as JSON, in bytes. */
export function recordBytes(message: object): number {
  return bytesOf({ kind: 'message', message });
}

/** Returns the size of a value as JSON, in bytes. */
export function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
