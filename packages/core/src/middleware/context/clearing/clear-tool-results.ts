import { AgentError } from '../../../error/agent-error.ts';
import { checkOptions, checkWhole } from '../../../error/check-fields.ts';
import { arc } from '../../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextPolicy,
  headOf,
} from '../context-policy.ts';
import { contextEditing } from './context-editing.ts';
import { requestCounter } from '../meter/request-counter.ts';
import { resultClearer } from './result-clearer.ts';

export interface ClearToolResultsOptions {
  /** Number of newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Number of tool results to clear at a time. Requests between two clearings then begin with the
   * same text, which keeps prompt caches valid. Default: the value of `keep`, at least 1.
   */
  readonly every?: number;
  /** Text that replaces a cleared result. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared and do not count toward `keep`. */
  readonly exclude?: readonly string[];
  /**
   * Minimum number of tokens to free at a time. The oldest results are cleared in batches of at
   * least this size, until the request has at most `above` tokens. A batch that would free fewer
   * tokens is not cleared (Spring AI Alibaba: `clearAtLeast`). Default: not set, so `every`
   * decides.
   */
  readonly clearAtLeast?: number;
  /**
   * Whether a cleared result also clears its tool call: the arguments become `{}` (Spring AI
   * Alibaba: `clearToolInputs`). Default false.
   */
  readonly clearToolInputs?: boolean;
  /**
   * Maximum number of estimated tokens that a request may have before results are cleared. Default
   * 0, or 100,000 with `clearAtLeast` or `clearToolInputs`.
   */
  readonly above?: number;
  /** Token profile that counts the request. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Replaces old tool results with a placeholder, in the request only. Each tool call keeps a result.
 * A text result that is no longer than the placeholder stays. A result that the model has not
 * replied to yet stays too, unless `clearAtLeast` or `clearToolInputs` is set. Throws
 * `CONFIGURATION` for an option of the wrong kind.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): ContextMiddleware {
  const fields =
    'keep:count|? every:count|? placeholder:string|? exclude:array|? above:count|? ' +
    'clearAtLeast:count|? clearToolInputs:boolean|? profile:countText()|?';
  checkOptions('CONFIGURATION', 'clearToolResults()', options, fields);
  checkWhole('clearToolResults()', { keep: options.keep });
  const { clearAtLeast, clearToolInputs } = options;
  if (clearAtLeast !== undefined || clearToolInputs !== undefined) return editContext(options);
  const {
    keep = 3,
    every = keep === Infinity ? 1 : Math.max(1, keep),
    placeholder = '[cleared]',
    exclude = [],
    above = 0,
    profile = arc,
  } = options;
  if (!Number.isInteger(every) || every < 1)
    throw new AgentError(
      'CONFIGURATION',
      'clearToolResults(): every must be a whole number of 1 or more.',
    );
  const countGiven = requestCounter(profile);
  const countCleared = requestCounter(profile);
  const { isOurs, clear } = resultClearer(placeholder, exclude);

  const fit: ContextPolicy['fit'] = (request) => {
    const { messages } = request;
    const before = countGiven(request);
    const same = { messages, removed: 0, before, after: before };
    if (before <= above) return same;
    const start = headOf(request);
    const results: number[] = [];
    for (let i = start; i < messages.length; i++) if (isOurs(messages[i]!)) results.push(i);
    const seen = messages.findLastIndex(({ role }) => role === 'assistant');
    const old = results
      .slice(0, Math.max(0, Math.floor((results.length - keep) / every)) * every)
      .filter((index) => index < seen);
    const fitted = [...messages];
    for (const index of old) fitted[index] = clear(messages[index]!);
    if (old.every((index) => fitted[index] === messages[index])) return same;
    return {
      messages: fitted,
      removed: 0,
      before,
      after: countCleared({ ...request, messages: fitted }),
    };
  };
  return contextPolicy({ name: 'clearToolResults', fit });
}

/** Clears results as Spring AI Alibaba's context editing interceptor does. */
function editContext({
  above,
  exclude,
  every: _every,
  ...rest
}: ClearToolResultsOptions): ContextMiddleware {
  return contextEditing({
    ...rest,
    ...(above !== undefined && { trigger: above }),
    ...(exclude && { excludeTools: exclude }),
  });
}
