/**
 * On every answer: it is data, to be shown in no page, kept by nobody who is not told to, and of no
 * other type than it says.
 */
export const securityHeaders: readonly (readonly [name: string, value: string])[] = [
  ['x-content-type-options', 'nosniff'],
  ['content-security-policy', "default-src 'none'; frame-ancestors 'none'"],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-resource-policy', 'same-site'],
];
