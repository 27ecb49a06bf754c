import { countFeatures } from './text-features.ts';
import { jsonTools, type TokenProfile } from './token-profile.ts';

/**
 * Creates a profile that estimates a text by the weighted sum of its feature counters
 * (`countFeatures`). `weights`: one character per counter, which `decodeWeight` converts to a
 * number.
 *
 * The default costs of requests, messages and tool calls are those of the most expensive known chat
 * template. Media cost as much as a full-size image. These costs are high so that a request does
 * not have more tokens than estimated.
 */
export function fittedProfile(
  name: string,
  weights: string,
  costs: Partial<TokenProfile> = {},
): TokenProfile {
  let decoded: Float64Array | undefined;
  return {
    name,
    countText,
    perRequest: 8,
    perMessage: 5,
    perToolCall: 14,
    perMedia: 1600,
    tools: jsonTools,
    ...costs,
  };

  function countText(text: string): number {
    if (text === '') return 0;
    const counts = countFeatures(text);
    decoded ??= Float64Array.from(weights, decodeWeight);
    let tokens = 0;
    for (let i = 0; i < counts.length; i++) tokens += counts[i]! * decoded[i]!;
    return Math.max(1, tokens);
  }
}

/**
 * Converts a character to a weight from -1.43 (`R`) to 4.43 (`Q`). The characters from `R` to `~`
 * come first, then those from `#` to `Q`. `s` is 0. The difference between neighbors grows with the
 * distance from `s`.
 */
export function decodeWeight(character: string): number {
  const steps = ((character.charCodeAt(0) + 10) % 92) - 33;
  return (steps * Math.abs(steps)) / 760;
}
