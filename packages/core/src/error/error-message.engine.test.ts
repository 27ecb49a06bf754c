import { expect, test } from 'vitest';
import { AgentError } from './agent-error.ts';
import { errorMessage, type ErrorMessageKey } from './error-message.ts';
import { errorTexts } from './error-texts.ts';

const keys = Object.keys(errorTexts.en) as ErrorMessageKey[];
const script = {
  en: /^[\x20-\x7e]+$/,
  zh: /[\u4e00-\u9fff]/,
  ja: /[\u3040-\u30ff]/,
  ko: /[\uac00-\ud7a3]/,
};

test.each(['en', 'zh', 'ja', 'ko'] as const)(
  '%s has a text for every code and category',
  (locale) => {
    expect(Object.keys(errorTexts[locale])).toEqual(keys);
    for (const key of keys) {
      const [code, category] = key.split(':');
      const said = errorMessage({ code, details: { category } }, { locale });
      expect(said).toBe(errorTexts[locale][key]);
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
      expect(keys.map((key) => errorTexts[locale][key])).toContain(errorMessage(error, { locale }));
  }
  expect(errorMessage(new Error(secret))).toBe(errorTexts.en.INTERNAL);
});

test('a category gives a more specific text than its code; a category of another code is ignored', () => {
  const rejected = new AgentError('GUARD_REJECTED', '', { details: { category: 'OFF_TOPIC' } });
  expect(errorMessage(rejected.toJSON(), { locale: 'ko' })).toBe(
    errorTexts.ko['GUARD_REJECTED:OFF_TOPIC'],
  );
  expect(errorMessage({ code: 'GUARD_REJECTED', details: { category: 'NEW' } })).toBe(
    errorTexts.en.GUARD_REJECTED,
  );
  expect(errorMessage({ code: 'TOOL_ERROR', details: { category: 'OFF_TOPIC' } })).toBe(
    errorTexts.en.TOOL_ERROR,
  );
});

test.each([
  ['ko-KR', 'ko'],
  ['zh_Hant_TW', 'zh'],
  ['JA', 'ja'],
  ['fr', 'en'],
  ['', 'en'],
  ['__proto__', 'en'],
] as const)('errorMessage() uses the language %s as %s', (locale, language) => {
  expect(errorMessage({ code: 'NOT_FOUND' }, { locale })).toBe(errorTexts[language].NOT_FOUND);
});

test('custom texts take precedence, also for thrown values that are not an AgentError', () => {
  const messages = {
    NOT_FOUND: 'Nichts da.',
    INTERNAL: 'Ups.',
    'GUARD_REJECTED:OFF_TOPIC': 'Falsches Thema.',
  };
  expect(errorMessage({ code: 'NOT_FOUND' }, { messages })).toBe('Nichts da.');
  expect(errorMessage('?', { messages })).toBe('Ups.');
  expect(
    errorMessage({ code: 'GUARD_REJECTED', details: { category: 'OFF_TOPIC' } }, { messages }),
  ).toBe('Falsches Thema.');
  expect(errorMessage({ code: 'TOOL_ERROR' }, { messages })).toBe(errorTexts.en.TOOL_ERROR);
});
