import { countFeatures } from './features/text-features.ts';
import type { TokenProfile, ToolCosts } from './token-profile.ts';

/**
 * Makes a profile that estimates a text by the weighted sum of its counters. `weights` has one
 * character per counter (`decodeWeight`). Frame and tool calls cost as much as in the most
 * expensive known chat template. Media cost as much as a full-size image. So a request is not
 * longer than estimated.
 */
export function fittedProfile(
  name: string,
  weights: string,
  tools: ToolCosts,
  perMedia = 1600,
  imagePixels?: number,
): TokenProfile {
  let decoded: Float64Array | undefined;
  return {
    name,
    countText,
    perRequest: 8,
    perMessage: 5,
    perToolCall: 14,
    perMedia,
    imagePixels,
    tools,
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
 * Decodes a weight. `R` to `~`, then `#` to `Q`, stand for -1.43 to 4.43. The steps grow with the
 * distance from `s`, which is 0.
 */
export function decodeWeight(character: string): number {
  const steps = ((character.charCodeAt(0) + 10) % 92) - 33;
  return (steps * Math.abs(steps)) / 760;
}
