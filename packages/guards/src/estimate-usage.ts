import type { ModelDelta, ModelRequest, Usage } from '@isoloop/core';
import { countRequest, type TokenProfile } from '@isoloop/core/tokens';

/**
 * Estimates the usage of a reply whose usage the provider did not report. Either the reply is
 * incomplete, or the provider never reports usage.
 */
export function estimateUsage(
  request: Pick<ModelRequest, 'messages' | 'tools'>,
  text: string,
  profile: TokenProfile,
): Usage {
  return { inputTokens: countRequest(request, profile), outputTokens: profile.countText(text) };
}

/**
 * Returns all text that the model wrote in these deltas: text, thinking and arguments of tool
 * calls.
 */
export function deltasText(batch: readonly ModelDelta[]): string {
  let text = '';
  for (const delta of batch) if ('delta' in delta) text += delta.delta;
  return text;
}
