import { inlineSource, mediaKind } from '../media/media.ts';
import type { MediaBlock, MediaSource } from '../msg.ts';
import { refuseField, type RefusalOptions } from './refuse-field.ts';

/**
 * Returns the accepted fields of an untrusted media source. A base64 `data:` URL becomes inline
 * data. Throws `INVALID_MESSAGE`, or the error of `errorOf`, for a refused field. `prefix`: path of
 * the source, with a dot.
 */
export function acceptSource(
  block: MediaBlock,
  options: RefusalOptions,
  prefix: string,
): MediaSource {
  const source = inlineSource(block.source);
  const check = (field: string, problem: string | undefined): void => {
    if (problem !== undefined) refuseField(options, prefix + field, problem);
  };
  const { type, mediaType } = source;
  if (type !== 'url' && type !== 'base64') check('type', 'must be "url" or "base64"');
  if (type === 'url') check('url', addressProblem(source.url));
  else check('data', /^[\w+/=\s-]*$/.test(source.data) ? undefined : 'must be base64');
  // A browser knows no media type for the files of some programs.
  if (mediaType) check('mediaType', mediaTypeProblem(block, mediaType));
  if (type === 'base64') return { type, mediaType: source.mediaType, data: source.data };
  return { type, url: source.url, ...(mediaType !== undefined && { mediaType }) };
}

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

/** Returns why a block may not have this media type, or `undefined`. */
function mediaTypeProblem({ type }: MediaBlock, mediaType: string): string | undefined {
  if (!/^[\w.+-]+\/[\w.+*-]+(?:;|$)/.test(mediaType)) return 'must be a media type';
  const isFitting = type === 'file' || mediaKind(mediaType.toLowerCase()) === type;
  return isFitting ? undefined : `must be a media type of the kind ${type}`;
}
