import { parseJson } from '@isoloop/core/message';
import { rewriteText, type RewrittenText } from '../rewritten-text.ts';
import { replacementOf, type CheckedRule } from './checked-rule.ts';
import type { Finding } from './output-rule.ts';

/**
 * Replaces what a rule finds in a text, also behind `\u` escapes. Searches each string and number
 * of JSON on its own.
 */
export function applyRule(rule: CheckedRule, original: string, isJson: boolean): string {
  if (!rule.find) return original;
  if (isJson) return mapJson(original, (text) => applyRule(rule, text, false));
  const findingsIn = (text: string): readonly Finding[] =>
    rule.find!(text).map((finding) => ({ ...finding, replacement: replacementOf(rule, finding) }));
  const text = replaceFindings(original, findingsIn(original));
  const reading = decodeEscapes(text);
  if (reading.text === text) return text;
  const findings = findingsIn(reading.text).map((finding) => ({
    ...finding,
    start: reading.start(finding.start),
    end: reading.start(finding.end),
  }));
  return replaceFindings(text, findings);
}

/** Replaces each finding in the text with its replacement. */
export function replaceFindings(text: string, findings: readonly Finding[]): string {
  if (!findings.length) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end, ...rest } of findings) {
    pieces.push(text.slice(from, start), 'replacement' in rest ? rest.replacement : '');
    from = end;
  }
  return pieces.join('') + text.slice(from);
}

/**
 * Applies `change` to each string and each number of a JSON text. Applies `change` to the whole
 * text if the text is not valid JSON. A number that changes becomes a string.
 */
function mapJson(json: string, change: (text: string) => string): string {
  if (parseJson(json) === undefined) return change(json);
  return json.replace(stringOrNumber, (token) => {
    const text = token.startsWith('"') ? (JSON.parse(token) as string) : token;
    const changed = change(text);
    return changed === text ? token : JSON.stringify(changed);
  });
}

/** Repeats no alternatives, because V8 would store a backtracking point for each character. */
const stringOrNumber = /"[^"\\]*(?:\\[^][^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Decodes the `\uXXXX` escapes of a text, as a JSON or YAML parser reads it. */
function decodeEscapes(raw: string): RewrittenText {
  return rewriteText(raw, /\\u[\da-f]{4}/gi, (escape) =>
    String.fromCharCode(Number.parseInt(escape.slice(2), 16)),
  );
}
