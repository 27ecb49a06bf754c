import { afterEach, expect, test, vi } from 'vitest';
import { digest } from './digest.ts';

afterEach(() => void vi.unstubAllGlobals());

test('digest() returns the same hash with and without crypto.subtle', async () => {
  const texts = ['', 'abc', '東京 😀', 'x'.repeat(1000), 'half of 😀: \ud83d'];
  const native = await Promise.all(texts.map(digest));
  vi.stubGlobal('crypto', {});
  expect(await Promise.all(texts.map(digest))).toEqual(native);
  expect(native[1]).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
