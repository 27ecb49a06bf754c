import { expect, test } from 'vitest';
import { AgentError } from './agent-error.ts';
import { userErrorText, type UserErrorKey } from './user-error-text.ts';
import { userErrorTexts } from './user-error-texts.ts';

const keys = Object.keys(userErrorTexts.en) as UserErrorKey[];
const script = {
  en: /^[\x20-\x7e]+$/,
  zh: /[\u4e00-\u9fff]/,
  ja: /[\u3040-\u30ff]/,
  ko: /[\uac00-\ud7a3]/,
};

test.each(['en', 'zh', 'ja', 'ko'] as const)(
  '%s has a text for every code and category',
  (locale) => {
    expect(Object.keys(userErrorTexts[locale])).toEqual(keys);
    for (const key of keys) {
      const [code, category] = key.split(':');
      const said = userErrorText({ code, details: { category } }, { locale });
      expect(said).toBe(userErrorTexts[locale][key]);
      expect(said).toMatch(script[locale]);
    }
  },
);

test('the message for the user contains no text of the error', () => {
  const secret = 'postgres://root:hunter2@db';
  const errors = [
    new Error(secret),
    secret,
    null,
    undefined,
    { code: secret },
    { code: 'constructor' },
    { code: '__proto__', details: null },
    new AgentError('TOOL_ERROR', secret, { details: { category: secret } }),
    { code: 'GUARD_REJECTED', details: { category: 'toString' } },
    { code: Symbol(secret) },
    { code: { toString: null } },
    { code: { toString: () => secret }, details: { category: secret } },
    new Error('outer', {
      cause: new AgentError('TOOL_ERROR', secret, { cause: new Error(secret) }),
    }),
    Object.defineProperty(new Error(secret), 'code', {
      get() {
        throw new Error(secret);
      },
    }),
  ];
  for (const locale of ['en', 'zh', 'ja', 'ko'] as const) {
    for (const error of errors)
      expect(keys.map((key) => userErrorTexts[locale][key])).toContain(
        userErrorText(error, { locale }),
      );
  }
  expect(userErrorText(new Error(secret))).toBe(userErrorTexts.en.INTERNAL);
});

test('a category gives a more specific text than its code; a category of another code is ignored', () => {
  const rejected = new AgentError('GUARD_REJECTED', '', { details: { category: 'OFF_TOPIC' } });
  expect(userErrorText(rejected.toJSON(), { locale: 'ko' })).toBe(
    userErrorTexts.ko['GUARD_REJECTED:OFF_TOPIC'],
  );
  expect(userErrorText({ code: 'GUARD_REJECTED', details: { category: 'NEW' } })).toBe(
    userErrorTexts.en.GUARD_REJECTED,
  );
  expect(userErrorText({ code: 'TOOL_ERROR', details: { category: 'OFF_TOPIC' } })).toBe(
    userErrorTexts.en.TOOL_ERROR,
  );
});

test.each([
  ['ko-KR', 'ko'],
  ['zh_Hant_TW', 'zh'],
  ['JA', 'ja'],
  ['fr', 'en'],
  ['', 'en'],
  ['__proto__', 'en'],
] as const)('userErrorText() uses the language %s as %s', (locale, language) => {
  expect(userErrorText({ code: 'NOT_FOUND' }, { locale })).toBe(userErrorTexts[language].NOT_FOUND);
});

test('custom texts take precedence, also for thrown values that are not an AgentError', () => {
  const messages = {
    NOT_FOUND: 'Nichts da.',
    INTERNAL: 'Ups.',
    'GUARD_REJECTED:OFF_TOPIC': 'Falsches Thema.',
  };
  expect(userErrorText({ code: 'NOT_FOUND' }, { messages })).toBe('Nichts da.');
  expect(userErrorText('?', { messages })).toBe('Ups.');
  expect(
    userErrorText({ code: 'GUARD_REJECTED', details: { category: 'OFF_TOPIC' } }, { messages }),
  ).toBe('Falsches Thema.');
  expect(userErrorText({ code: 'TOOL_ERROR' }, { messages })).toBe(userErrorTexts.en.TOOL_ERROR);
});
