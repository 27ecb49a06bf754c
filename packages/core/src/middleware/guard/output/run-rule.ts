import { misconfigured } from '../../../error/agent-error.ts';
import { isRecord } from '../../../message/json/is-record.ts';
import { isRejection, type Rejection, type Report } from '../rejection.ts';
import type { Finding, OutputRule, Review, ReviewContext } from './output-rule.ts';

/** Exception that ends the check of a reply and names the rule that rejected it. */
export class RuleRejection extends Error {
  readonly rule: string;
  readonly rejection: Rejection;

  constructor(rule: string, rejection: Rejection) {
    super(rule);
    this.rule = rule;
    this.rejection = rejection;
  }
}

/**
 * Returns the findings of a rule, in order and without overlaps. If the rule throws or returns an
 * invalid finding, throws a `RuleRejection`.
 */
export function findingsOf(rule: OutputRule, text: string, report: Report): readonly Finding[] {
  try {
    const findings = [...(rule.find?.(text) ?? [])];
    let from = 0;
    for (const finding of findings) {
      const { start, end } = finding;
      const isPlace =
        Number.isInteger(start) &&
        Number.isInteger(end) &&
        from <= start &&
        start <= end &&
        end <= text.length;
      const says =
        'reject' in finding
          ? isRejection({ category: finding.reject })
          : typeof finding.replacement === 'string';
      if (!isPlace || !says)
        throw misconfigured('A rule returned an invalid finding, or findings out of order.');
      from = end;
    }
    return findings;
  } catch (error) {
    report(error, rule.name);
    throw new RuleRejection(rule.name, { category: 'SYSTEM_ERROR' });
  }
}

/**
 * Returns the index from which the rule withholds a streamed text. Throws a `RuleRejection` if the
 * rule throws or returns anything else.
 */
export function withheldFromOf(
  rule: OutputRule,
  text: string,
  lookahead: number,
  report: Report,
): number {
  if (!rule.withheldFrom) return text.length - lookahead;
  try {
    const from: unknown = rule.withheldFrom(text, lookahead);
    if (Number.isInteger(from) && (from as number) <= text.length) return from as number;
    throw misconfigured('A rule returned an invalid index in withheldFrom.');
  } catch (error) {
    report(error, rule.name);
    throw new RuleRejection(rule.name, { category: 'SYSTEM_ERROR' });
  }
}

/** Throws a `RuleRejection` if the finding rejects the text. */
export function throwRejected(rule: OutputRule, finding: Finding): void {
  if ('reject' in finding) throw new RuleRejection(rule.name, { category: finding.reject });
}

/**
 * Returns the review of a rule. If the rule rejects, throws or returns an invalid review, throws a
 * `RuleRejection`.
 */
export async function reviewOf(
  rule: OutputRule,
  text: string,
  context: ReviewContext,
  report: Report,
): Promise<Exclude<Review, Rejection>> {
  let review: unknown;
  try {
    review = await rule.review!(text, context);
    const isReview =
      isRecord(review) &&
      (isRejection(review) ||
        typeof review['text'] === 'string' ||
        typeof review['retry'] === 'string');
    if (!isReview) throw misconfigured('A rule returned an invalid review.');
    if ('retry' in (review as Review) && context.retries)
      throw misconfigured('A rule asked for a second retry.');
  } catch (error) {
    report(error, rule.name);
    throw new RuleRejection(rule.name, { category: 'SYSTEM_ERROR' });
  }
  if (isRejection(review)) throw new RuleRejection(rule.name, review);
  return review as Exclude<Review, Rejection>;
}
