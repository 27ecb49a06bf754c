import { isRecord } from '@isoloop/core/message';
import { AgentError } from '@isoloop/core';
import { isGuardRejection, type Rejection, type ReportGuardError } from '../rejection.ts';
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
 * A rule whose results are valid. Its functions throw a `RuleRejection` if the rule rejects a text,
 * throws, or returns something invalid, so that a broken rule lets nothing pass.
 */
export interface CheckedRule {
  readonly name: string;
  readonly releaseAtMost: number;
  /** Absent if the rule only reviews whole texts. */
  readonly find: ((text: string) => readonly Finding[]) | undefined;
  /** Returns the index from which the rule withholds a streamed text. */
  withheldFrom(text: string, lookahead: number): number;
  /** Absent if the rule only finds parts of texts. */
  readonly review:
    | ((text: string, context: ReviewContext) => Promise<Exclude<Review, Rejection>>)
    | undefined;
}

/** Adds the checks to a rule. `report` gets exceptions, and errors about invalid results. */
export function checkedRule(rule: OutputRule, report: ReportGuardError): CheckedRule {
  const { name, releaseAtMost = Infinity } = rule;
  const failure = (error: unknown): RuleRejection => {
    report(error, name);
    return new RuleRejection(name, { category: 'SYSTEM_ERROR' });
  };
  const attempt = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw failure(error);
    }
  };
  return {
    name,
    releaseAtMost,
    find:
      rule.find && ((text) => attempt(() => checkedFindings([...rule.find!(text)], text.length))),
    withheldFrom: (text, lookahead) =>
      rule.withheldFrom
        ? attempt(() => checkedIndex(rule.withheldFrom!(text, lookahead), text.length))
        : text.length - lookahead,
    review:
      rule.review &&
      (async (text, context) => {
        let review: Review;
        try {
          review = checkedReview(await rule.review!(text, context), context);
        } catch (error) {
          throw failure(error);
        }
        if ('category' in review) throw new RuleRejection(name, review);
        return review;
      }),
  };
}

/** Returns the text for a finding. Throws a `RuleRejection` if the finding rejects the text. */
export function replacementOf({ name }: CheckedRule, finding: Finding): string {
  if ('reject' in finding) throw new RuleRejection(name, { category: finding.reject });
  return finding.replacement;
}

/** Throws `CONFIGURATION` unless the findings are valid, in order and without overlaps. */
function checkedFindings(findings: readonly Finding[], length: number): readonly Finding[] {
  let from = 0;
  for (const finding of findings) {
    const { start, end } = finding;
    const isInOrder = [start, end].every(Number.isInteger) && from <= start && start <= end;
    const isValid =
      'reject' in finding
        ? isGuardRejection({ category: finding.reject })
        : typeof finding.replacement === 'string';
    if (!isInOrder || end > length || !isValid)
      throw new AgentError(
        'CONFIGURATION',
        'A rule of outputGuards() returned an invalid finding, or findings out of order. A finding ' +
          'has `start` and `end`, which are indexes in the text, and `replacement` or `reject`.',
      );
    from = end;
  }
  return findings;
}

function checkedIndex(index: number, length: number): number {
  if (Number.isInteger(index) && index <= length) return index;
  throw new AgentError(
    'CONFIGURATION',
    'withheldFrom() of a rule of outputGuards() must return an index in the text, at most its length.',
  );
}

function checkedReview(review: unknown, { mayRetry }: ReviewContext): Review {
  if (isGuardRejection(review)) return review;
  const { text, retry } = isRecord(review) ? review : {};
  // The rule does not let this text pass, and there is no other reply.
  if (typeof retry === 'string' && !mayRetry) return { category: 'OUTPUT_REJECTED' };
  if (typeof text === 'string' || typeof retry === 'string') return review as Review;
  throw new AgentError(
    'CONFIGURATION',
    'review() of a rule of outputGuards() must return { text }, { retry } or { category }.',
  );
}
