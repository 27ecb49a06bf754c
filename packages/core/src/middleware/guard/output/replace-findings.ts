import type { Finding } from './output-rule.ts';

/** Replaces each finding in the text with its replacement. */
export function replaceFindings(text: string, findings: readonly Finding[]): string {
  if (!findings.length) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const finding of findings) {
    pieces.push(
      text.slice(from, finding.start),
      'replacement' in finding ? finding.replacement : '',
    );
    from = finding.end;
  }
  return pieces.join('') + text.slice(from);
}
