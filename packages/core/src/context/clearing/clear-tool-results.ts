import { AgentError } from '../../error/agent-error.ts';
import { checkFields } from '../../error/check-fields.ts';
import { arc } from '../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import type { ContextPolicy } from '../../loop/context-policy.ts';
import { contextEditing } from './context-editing.ts';
import { requestCounter } from '../meter/request-counter.ts';
import { headOf } from '../meter/request-head.ts';
import { resultClearer } from './result-clearer.ts';

export interface ClearToolResultsOptions {
  /** Newest results that stay as they are. Default 3. */
  readonly keep?: number;
  /**
   * Results are cleared so many at a time, so that requests in between begin with the same text.
   * Default: as `keep`, at least 1.
   */
  readonly every?: number;
  /** Stands in their place. Default `[cleared]`. */
  readonly placeholder?: string;
  /** Names of tools whose results are never cleared, and not counted by `keep`. */
  readonly exclude?: readonly string[];
  /**
   * Tokens that are freed at a time: the oldest results go in batches of so many, until the request
   * is no longer than `above`; what would free less stays (Spring AI Alibaba: `clearAtLeast`).
   * Default: by `every`.
   */
  readonly clearAtLeast?: number;
  /**
   * Whether the arguments of their calls are cleared as well, to `{}` (Spring AI Alibaba:
   * `clearToolInputs`). Default false.
   */
  readonly clearToolInputs?: boolean;
  /**
   * Estimated tokens of a request; a shorter one is left alone. Default 0, with `clearAtLeast` or
   * `clearToolInputs` 100,000.
   */
  readonly above?: number;
  /** How `above` is counted. Default `arc`. */
  readonly profile?: TokenProfile;
}

/**
 * Puts a placeholder in the place of old tool results, in the request alone: the calls, and that
 * they were answered, stay. What is shorter than the placeholder stays, too, and so do all results
 * that no model has answered yet. Throws `CONFIGURATION` for an option of another kind.
 */
export function clearToolResults(options: ClearToolResultsOptions = {}): ContextPolicy {
  const fields =
    'keep:count|? every:count|? placeholder:string|? exclude:array|? above:count|? profile:countText()|?';
  checkFields('CONFIGURATION', 'clearToolResults()', options, fields);
  const { clearAtLeast, clearToolInputs } = options;
  if (clearAtLeast !== undefined || clearToolInputs !== undefined) return editContext(options);
  const {
    keep = 3,
    every = Math.max(1, keep),
    placeholder = '[cleared]',
    exclude = [],
    above = 0,
    profile = arc,
  } = options;
  if (!Number.isInteger(every) || every < 1)
    throw new AgentError(
      'CONFIGURATION',
      'clearToolResults(): every must be a whole number from 1 on.',
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

/** As Spring AI Alibaba's context editing interceptor does it. */
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
