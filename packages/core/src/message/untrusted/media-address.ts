import { inlineSource } from '../media/media.ts';

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
