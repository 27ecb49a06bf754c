/** Maximum number of characters in one part of a key. File systems allow names of 255 bytes. */
const partLength = 120;

/**
 * Returns the key for a driver. Drivers make file names of it, so it has only lower-case letters,
 * digits and dashes: some file systems do not tell `A` from `a`. Other characters become their code
 * in hexadecimal between underscores. Long keys get several parts, which are folders on disk. The
 * last part ends in `.v`, so that no key is the folder of another one.
 */
export function toDriverKey(key: string): string {
  const name = key.replace(
    /[^a-z0-9-]/g,
    (character) => `_${character.charCodeAt(0).toString(16)}_`,
  );
  const parts = name.match(new RegExp(`.{1,${partLength}}`, 'g')) ?? [];
  return `${parts.join(':')}${suffix}`;
}

/**
 * Returns the store's key for a driver's key. Returns `undefined` if `toDriverKey` did not make
 * that key.
 */
export function fromDriverKey(driverKey: string): string | undefined {
  if (!driverKey.endsWith(suffix)) return undefined;
  // The driver for files lists keys with `/` between their parts; other drivers may use `:` or `\`.
  const name = driverKey.slice(0, -suffix.length).replace(/[:/\\]/g, '');
  return name.replace(/_([0-9a-f]+)_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

const suffix = '.v';
