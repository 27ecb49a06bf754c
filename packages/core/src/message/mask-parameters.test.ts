import { expect, test } from 'vitest';
import { maskParameters } from './mask-parameters.ts';

test.each([
  'password',
  'Password',
  'apiKey',
  'api_key',
  'API-KEY',
  'x.access-token',
  'clientSecret',
  'key',
  'credentials',
  'Authorization',
  'passwords',
  'client_secrets',
  'apiKeys',
  'dbPwd',
])('maskParameters() masks the value of %s', (key) => {
  expect(maskParameters({ [key]: 'abc', other: 1 })).toEqual({ [key]: '***', other: 1 });
});

test.each(['keyword', 'maxTokens', 'monkey', 'secretary', 'tokenizer', 'keys', '密码'])(
  'maskParameters() does not mask the value of %s',
  (key) => {
    expect(maskParameters({ [key]: 'abc' })).toEqual({ [key]: 'abc' });
  },
);

test('values of any type are masked at any depth, and the given value is not changed', () => {
  const given = { list: [{ token: { a: 1 } }, 'token'], note: null, __proto__x: 1 };
  expect(maskParameters(given)).toEqual({
    list: [{ token: '***' }, 'token'],
    note: null,
    __proto__x: 1,
  });
  expect(given.list[0]).toEqual({ token: { a: 1 } });
  expect(maskParameters('token')).toBe('token');
});

test('a custom function can decide which names are masked', () => {
  expect(maskParameters({ ssn: '1', key: '2' }, (key) => key === 'ssn')).toEqual({
    ssn: '***',
    key: '2',
  });
});
