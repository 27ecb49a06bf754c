import { MemoryStore } from '@isoloop/core';
import { expect, test } from 'vitest';
import { testEndpoint } from '../../test-support/endpoint.ts';
import { createAgentHandler } from './agent-handler.ts';

test.each(['https://app.test/', 'https://APP.test', 'app.test', '*', 'https://*.app.test', 7])(
  'cors with %j says what to write instead',
  (origin) => {
    const advice = `${JSON.stringify(origin)}; list each origin without a path, such as "https://`;
    expect(() => testEndpoint([], {}, { cors: [origin as string] })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(advice) }),
    );
  },
);

const storeAdvice =
  "Conversations in a store need `store: storeSessions(store)` in createAgentHandler(). Import it: import { storeSessions } from '@isoloop/edge/store';";

test.each<[what: string, store: unknown, advice: string]>([
  ['a bare store', new MemoryStore(), storeAdvice],
  ['another object', { getItem: () => null }, storeAdvice],
  ['a path', './chats', storeAdvice],
  ['null', null, 'store must be an object with open()'],
])('with %s as `store`, the error says what to pass', (_what, store, advice) => {
  expect(() => testEndpoint([], {}, { store } as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION', message: expect.stringContaining(advice) }),
  );
});

test('a text as cors is refused, and the error asks for an array', () => {
  expect(() => testEndpoint([], {}, { cors: 'https://app.test' as never })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('cors must be an array'),
    }),
  );
});

test.each([
  ['*'],
  ['null'],
  ['app.test'],
  ['https://app.test/'],
  ['https://app.test/page'],
  ['https://APP.test'],
  ['https://app.test:443'],
  ['https://*.app.test'],
  [''],
])('cors rejects the origin %j', (origin) => {
  expect(() => testEndpoint([], {}, { cors: ['https://ok.test', origin] })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.each([
  [{ limits: { bodyBytes: NaN } }],
  [{ limits: { bodyBytes: undefined } }],
  [{ limits: { messages: 0 } }],
  [{ limits: { toolResultChars: '1' } }],
  [{ limits: { outputTokens: -1 } }],
  [{ limits: { keepAliveMs: 0 } }],
  [{ llm: { models: [], upstream: () => ({}) } }],
])('createAgentHandler() rejects a limit that would have no effect: %j', (options) => {
  expect(() => testEndpoint([], {}, options as never)).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test('createAgentHandler() rejects invalid session options', () => {
  for (const wrong of [
    { resumeAttempts: -1 },
    { expireAfterMs: 0 },
    { heartbeatMs: 90_000 },
    { heartbeatMs: NaN },
    { queuedTurns: -1 },
  ]) {
    expect(() => createAgentHandler({ agent: () => ({}) as never, sessions: wrong })).toThrow(
      expect.objectContaining({ code: 'CONFIGURATION' }),
    );
  }
});

test('an unknown value of `approvals` fails with CONFIGURATION', () => {
  const open = (): unknown => testEndpoint([], {}, { approvals: 'once' as never });
  expect(open).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('secrets must be a list or a function', () => {
  expect(() => testEndpoint([], {}, { secrets: 'KEY' as never })).toThrow(
    expect.objectContaining({ code: 'CONFIGURATION' }),
  );
});

test.each([
  ['llm', 'llmProxy()'],
  ['moves', 'sessionMoves()'],
  ['operator', 'operatorDesk()'],
  ['openai', 'openAiRoutes()'],
])('with options in place of a feature as `%s`, the error names %s', (option, call) => {
  expect(() => testEndpoint([], {}, { [option]: { models: [] } })).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining(`${option} must be the result of ${call}`),
    }),
  );
});
