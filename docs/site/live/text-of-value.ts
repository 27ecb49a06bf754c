/** Returns a printed value as text, as a console would show it. */
export function textOfValue(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) {
    const code = (value as { readonly code?: unknown }).code;
    return `${value.name}${typeof code === 'string' ? ` ${code}` : ''}: ${value.message}`;
  }
  if (value instanceof Map) return `Map ${textOfValue([...value])}`;
  if (value instanceof Set) return `Set ${textOfValue([...value])}`;
  try {
    return JSON.stringify(value, undefined, 1)?.replace(/\n */g, ' ') ?? String(value);
  } catch {
    return String(value);
  }
}
