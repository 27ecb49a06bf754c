/** Returns whether the text is the origin of a page, in the form that browsers send. */
export function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && !text.includes('*');
}
