import { estimateTokens } from '../../tokens/estimate-tokens.ts';
import type { LongTermRecord } from './long-term-contract.ts';

/**
 * Records as text for the model, one after the other with their day, of `maxTokens` at most: what
 * does not fit is left out, a first one that is longer than that by itself is cut short. Empty
 * where there is nothing to say.
 */
export function recalledText(records: readonly LongTermRecord[], maxTokens: number): string {
  const entries: string[] = [];
  let left = maxTokens;
  for (const { text, createdAt } of records) {
    if (!text.trim()) continue;
    const entry = `- ${createdAt.slice(0, 10)} ${text.trim().replaceAll('\n', '\n  ')}`;
    const tokens = estimateTokens(entry);
    if (tokens > left && entries.length > 0) continue;
    entries.push(tokens > left ? cut(entry, left / tokens) : entry);
    left -= tokens;
  }
  return entries.join('\n');
}

function cut(text: string, share: number): string {
  // A surrogate pair is not cut in two: servers refuse half of one.
  return `${text.slice(0, Math.floor(text.length * share)).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
