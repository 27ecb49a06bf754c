import { isObjectOrArray, parseJson } from '../message/json.ts';

/** Matches half of a surrogate pair that has no other half. */
const loneSurrogate = /\p{Surrogate}/u;

/**
 * Returns the paths of the texts in a request that contain half an emoji. A strict JSON parser
 * refuses them, also within the JSON text of arguments. `path`: place of the value in the request.
 */
export function malformedTexts(value: unknown, path = ''): readonly string[] {
  if (typeof value === 'string') {
    if (loneSurrogate.test(value)) return [path];
    // The server parses the arguments of a call, too.
    return path.endsWith('.arguments') ? malformedTexts(parseJson(value), path) : [];
  }
  if (!isObjectOrArray(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => {
    const itemPath = Array.isArray(value) ? `${path}[${name}]` : `${path && `${path}.`}${name}`;
    return [...(loneSurrogate.test(name) ? [itemPath] : []), ...malformedTexts(item, itemPath)];
  });
}
