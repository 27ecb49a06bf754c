import type { Finding } from './output-rule.ts';

/** The text with each finding's replacement in its place. */
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
