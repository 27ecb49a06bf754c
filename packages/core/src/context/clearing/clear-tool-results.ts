import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { checkWhole } from '../../error/check-values.ts';
import { arc } from '../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextPolicy } from '../../loop/context-policy.ts';
import { contextEditing } from './context-editing.ts';
import { requestCounter } from '../meter/request-counter.ts';
import { headOf } from '../meter/request-head.ts';
import { resultClearer } from './result-clearer.ts';

export interface ClearToolResultsOptions {
  /** Number of newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Number of results cleared at a time, so that requests in between begin with the same text.
   * Default: as `keep`, at least 1.
   */
  readonly every?: number;
  /** Text that replaces a cleared result. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared and do not count toward `keep`. */
  readonly exclude?: readonly string[];
  /**
   * Fewest tokens to free at a time. The oldest results go in batches of at least this size, until
   * the request is no longer than `above`. A batch that would free less stays (Spring AI Alibaba:
   * `clearAtLeast`). Default: by `every`.
   */
  readonly clearAtLeast?: number;
  /**
   * Whether the arguments of the cleared results' calls become `{}` (Spring AI Alibaba:
   * `clearToolInputs`). Default false.
   */
  readonly clearToolInputs?: boolean;
  /**
   * Longest request, in estimated tokens, that is left alone. Default 0; with `clearAtLeast` or
   * `clearToolInputs` 100,000.
   */
  readonly above?: number;
  /** Profile that counts tokens for `above`. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Replaces old tool results with a placeholder, in the request only. The calls stay, each with an
 * answer. Text results no longer than the placeholder stay. Results that no model has answered yet
 * stay too, unless `clearAtLeast` or `clearToolInputs` is set. Throws `CONFIGURATION` for an option
 * of the wrong kind.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): ContextPolicy {
  const fields =
    'keep:count|? every:count|? placeholder:string|? exclude:array|? above:count|? profile:countText()|?';
  checkFields('CONFIGURATION', 'clearToolResults()', options, fields);
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
  return { name: 'clearToolResults', fit };
}

/** Clears results as Spring AI Alibaba's context editing interceptor does. */
function editContext({
  above,
  exclude,
  every: _every,
  ...rest
}: ClearToolResultsOptions): ContextPolicy {
  return contextEditing({
    ...rest,
    ...(above !== undefined && { trigger: above }),
    ...(exclude && { excludeTools: exclude }),
  });
}
