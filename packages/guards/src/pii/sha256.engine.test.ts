import { expect, test } from 'vitest';
import { digest } from '@isoloop/core/host';
import { sha256 } from './sha256.ts';

test('sha256() returns the same hash as crypto.subtle', async () => {
  const texts = ['', 'abc', '東京 😀', 'x'.repeat(1000), 'half of 😀: \ud83d'];
  const own = texts.map(sha256());
  expect(own).toEqual(await Promise.all(texts.map(digest)));
  expect(own[1]).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
