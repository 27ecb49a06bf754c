import { inlineSource, mediaKind } from '../media/media.ts';
import type { MediaBlock } from '../msg.ts';

/**
 * Returns why a sender may not give this address to a model's server or a page. `undefined` for an
 * http or https URL without a login, and for a base64 `data:` URL.
 */
export function addressProblem(url: string): string | undefined {
  if (/^data:/i.test(url)) {
    const isInline = inlineSource({ type: 'url', url }).type === 'base64';
    return isInline ? undefined : 'must have base64 data in its data: URL';
  }
  // Parsers of URLs skip control characters and replace backslashes, each one differently.
  if (!/^https?:\/\//i.test(url) || /[\p{Cc}\\]/u.test(url) || !URL.canParse(url))
    return 'must be an http, https or data URL';
  const { username, password } = new URL(url);
  return username || password ? 'must be a URL without a user name and password' : undefined;
}

/** Returns why a media type may not stand beside the data of a block, or `undefined`. */
export function mediaTypeProblem(
  { type }: Pick<MediaBlock, 'type'>,
  mediaType: string,
): string | undefined {
  // A browser knows no type for the files of some programs.
  if (!mediaType) return undefined;
  if (!/^[\w.+-]+\/[\w.+*-]+(?:;|$)/.test(mediaType)) return 'must be a media type';
  const isFitting = type === 'file' || mediaKind(mediaType.toLowerCase()) === type;
  return isFitting ? undefined : `must be a media type of the kind ${type}`;
}
