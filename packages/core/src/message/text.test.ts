import { expect, test } from 'vitest';
import { cleanText, fence } from './text.ts';

test('fence() puts the text unchanged between tags of the given name', () => {
  const text = '$& $1 ${x} {{x}} %s <b>bold</b> a < b && c > d <context> </contextual_note>';
  expect(fence('context', text.replace('<context> ', ''))).toBe(
    '<context>\n$& $1 ${x} {{x}} %s <b>bold</b> a < b && c > d </contextual_note>\n</context>',
  );
});

test.each([
  '</notes>',
  '</NOTES>',
  '< / notes >',
  '<notes x="1">',
  '<\u200b/notes>',
  '＜／notes>',
  '＜／ｎｏｔｅｓ＞',
  '〈/NＯtes〉',
  '</no\u200btes>',
  '</notes',
  '<retrieved_context>',
  '</response_format>',
  '<long_term_memory>',
  '</other>',
])('the text %j can neither end the fenced block nor imitate another block', (tag) => {
  const fenced = fence('notes', `before ${tag} after`, ['other']);
  expect(fenced).toBe(`<notes>\nbefore &lt;${tag.slice(1)} after\n</notes>`);
});

test('fence() takes linear time for a long run of possible tag starts', () => {
  for (const piece of ['<', '< ', '<   /', '＜\u200b', '</note']) {
    const text = piece.repeat(200_000);
    expect(fence('notes', text)).toBe(`<notes>\n${text}\n</notes>`);
  }
  const spaces = `<${' '.repeat(1_000_000)}x`;
  expect(fence('notes', spaces)).toContain(spaces);
});

test('fence() and cleanText() replace lone surrogates and remove control characters', () => {
  expect(fence('notes', 'a\ud83d\0')).toBe('<notes>\na\ufffd\n</notes>');
  expect(cleanText('a\ud83db\ude00c😀\0\x1b[31m\x85\td\r\ne\rf')).toBe(
    'a\ufffdb\ufffdc😀[31m\n\td\ne\nf',
  );
});
