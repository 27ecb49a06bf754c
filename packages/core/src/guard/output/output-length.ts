import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { tell } from '../../error/tell.ts';
import type { RunInfo } from '../../model/chat-model.ts';
import type { OutputRule } from './output-rule.ts';

export interface OutputLengthOptions {
  /**
   * Characters (UTF-16 units) an answer needs, without white space at both ends; default 0. Replies
   * that call tools may be shorter.
   */
  readonly min?: number;
  /**
   * Characters a reply may have; what follows is cut off and the mark put there. Default: no limit.
   * A structured value is never cut: one that is too long is rejected, `OUTPUT_REJECTED` with its
   * `length` and `max` in the details.
   */
  readonly max?: number;
  /**
   * What becomes of a shorter answer. `warn` (default): it stays, with a warning in
   * `metadata.warnings` of its message. `retry`: the model is asked once for a longer one; what is
   * then still too short stays with a warning. `fail`: it is rejected, `OUTPUT_TOO_SHORT`.
   */
  readonly mode?: 'warn' | 'retry' | 'fail';
  /** Default: a blank line and `[Cut off here]`. */
  readonly mark?: string;
  /**
   * Told of each answer outside the bounds; what it throws goes to the console. For
   * `Metrics.boundary`.
   */
  readonly onViolation?: (violation: LengthViolation) => void;
}

export interface LengthViolation {
  readonly rule: 'min' | 'max';
  /** Characters the answer has, and those it may or must have. */
  readonly value: number;
  readonly limit: number;
  /** Whose answer it was; absent where no run asked. */
  readonly run?: RunInfo;
}

/** Bounds what the model says (Arc Reactor: `outputMinChars`, `outputMaxChars`). */
export function outputLength(options: OutputLengthOptions): OutputRule {
  checkFields(
    'CONFIGURATION',
    'outputLength()',
    options,
    'min:count|? max:count|? mode:warn|retry|fail|? mark:string|? onViolation:function|?',
  );
  const { min = 0, max = Infinity, mode = 'warn', mark = '\n\n[Cut off here]' } = options;
  if (min > max)
    throw new AgentError('CONFIGURATION', `outputLength(): min ${min} is more than max ${max}.`);
  return {
    name: 'outputLength',
    releaseAtMost: max,
    review(text, { callsTools, isValue, retries, run }) {
      const violated = (violation: LengthViolation): void =>
        tell(options.onViolation, { ...violation, ...(run && { run }) });
      if (text.length > max) {
        violated({ rule: 'max', value: text.length, limit: max });
        if (isValue) return { category: 'OUTPUT_REJECTED', details: { length: text.length, max } };
        return { text: cut(text, max) + mark };
      }
      const { length } = text.trim();
      if (length >= min || callsTools) return { text };
      violated({ rule: 'min', value: length, limit: min });
      if (mode === 'fail') return { category: 'OUTPUT_TOO_SHORT', details: { length, min } };
      if (mode === 'retry' && !retries) {
        return {
          retry: `Your answer has ${length} characters; at least ${min} are needed. Answer again, in more detail.`,
        };
      }
      return { text, warning: { stage: 'outputLength', length, min } };
    },
  };
}

/** The first `length` units, without half of a pair at the end. */
function cut(text: string, length: number): string {
  return text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}
