import { documentsText } from '../../../message/retrieved-document.ts';
import type { RetrievedDocument } from '../../../message/retrieved-document.ts';
import { cutText } from '../../../message/cut-text.ts';
import { estimateTokens } from '../../../tokens/estimate-tokens.ts';
import type { TokenProfile } from '../../../tokens/token-profile.ts';

/**
 * Returns the documents whose text from `documentsText` has at most `maxTokens` tokens, in the
 * given order. Skips documents that do not fit. If no document has been chosen so far, shortens
 * such a document instead.
 */
export function fittingDocuments(
  documents: readonly RetrievedDocument[],
  maxTokens: number,
  profile?: TokenProfile,
): readonly RetrievedDocument[] {
  const chosen: RetrievedDocument[] = [];
  const fits = (more: RetrievedDocument): boolean =>
    estimateTokens(documentsText([...chosen, more]), profile) <= maxTokens;
  for (const document of documents) {
    if (fits(document)) chosen.push(document);
    else if (!chosen.length) {
      const content = longestStart(document.content, (start) =>
        fits({ ...document, content: start }),
      );
      if (content) chosen.push({ ...document, content });
    }
  }
  return chosen;
}

/**
 * Returns the longest start of a text that fits, with an ellipsis. Returns `undefined` if not even
 * one character fits.
 */
export function longestStart(text: string, fits: (start: string) => boolean): string | undefined {
  let [low, high] = [0, text.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(cutText(text, middle))) low = middle;
    else high = middle;
  }
  return low > 0 ? cutText(text, low) : undefined;
}
