import type { Finding } from './output-rule.ts';

/** A text with its `\uXXXX` escapes decoded, as a JSON or YAML parser reads it. */
export interface Unescaped {
  readonly text: string;
  /** Returns the finding with its indexes in the original text. */
  place(finding: Finding): Finding;
}

/** Decodes the escapes of a text. Returns `undefined` for a text without escapes. */
export function unescaped(raw: string): Unescaped | undefined {
  const places: number[] = [];
  const pieces: string[] = [];
  let from = 0;
  for (const { index, 0: escape, 1: code } of raw.matchAll(/\\u([\da-f]{4})/gi)) {
    pieces.push(raw.slice(from, index), String.fromCharCode(Number.parseInt(code!, 16)));
    for (let at = from; at <= index; at++) places.push(at);
    from = index + escape.length;
  }
  if (!pieces.length) return undefined;
  pieces.push(raw.slice(from));
  for (let at = from; at <= raw.length; at++) places.push(at);
  return {
    text: pieces.join(''),
    place: (finding) => ({ ...finding, start: places[finding.start]!, end: places[finding.end]! }),
  };
}
