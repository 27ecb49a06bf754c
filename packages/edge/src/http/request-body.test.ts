import { expect, test } from 'vitest';
import { readJson } from './request-body.ts';

const read = (body: string): Promise<object> =>
  readJson(
    new Request('https://edge.test', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    }),
    1_000_000,
  );

test.each([
  ['brackets', '[{'.repeat(100)],
  ['quotes before brackets', '"[{'.repeat(100)],
  ['a backslash at its end', '\\'],
  ['backslashes and quotes', '\\"\\\\"['.repeat(100)],
])('the nesting limit of a body ignores a string with %s', async (_name, text) => {
  const body = { a: [text, { [text]: text }], b: text };
  expect(await read(JSON.stringify(body))).toEqual(body);
});

test.each([
  [64, true],
  [65, false],
])('a body with %d levels of nesting is accepted: %s', async (levels, isRead) => {
  const body = `{"a\\"":"]}\\\\","b":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  if (isRead) expect(await read(body)).toHaveProperty('b');
  else await expect(read(body)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
