/** Tokens that a request or an agent call used, as the provider counts them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens`, if the provider reports it. */
  readonly reasoningTokens?: number;
  /** Part of `inputTokens` that came from the provider's cache, if the provider reports it. */
  readonly cachedInputTokens?: number;
}

/** The usage before the first request: no tokens. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

/** Adds the tokens of two requests. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = { ...a };
  for (const key of Object.keys(b) as (keyof Usage)[]) sum[key] = (a[key] ?? 0) + (b[key] ?? 0);
  return sum;
}
