/** Tokens as the provider counted them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens`, where the provider says so. */
  readonly reasoningTokens?: number;
  /** Part of `inputTokens` that came from the provider's cache, where it says so. */
  readonly cachedInputTokens?: number;
}

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0 };

export function addUsage(a: Usage, b: Usage): Usage {
  const reasoningTokens = sum(a.reasoningTokens, b.reasoningTokens);
  const cachedInputTokens = sum(a.cachedInputTokens, b.cachedInputTokens);
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(reasoningTokens === undefined ? {} : { reasoningTokens }),
    ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
  };
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}
