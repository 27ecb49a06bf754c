import { expect, test } from 'vitest';
import { missingRefusals, type TestedEntry, type Wrong } from '@test/exports/unknown-options.ts';
import { handlersIn } from '../hooks/use-agent-chat.ts';
import * as react from '../index.ts';
import * as object from '../object/index.ts';

const entries: Readonly<Record<string, TestedEntry>> = {
  './index': {
    exports: react,
    calls: {
      agentEndpoint: (wrong) => react.agentEndpoint('/api/chat', wrong),
      useAgentChat: (wrong) => handlersIn(wrong),
      useOperatorMessages: (wrong) => react.useOperatorMessages(undefined, 's', wrong),
      useMovableSession: (wrong) => react.useMovableSession({} as Wrong, 's', wrong),
    },
    others: { data: 'getToolName isToolUIPart useAgentEvents' },
  },
  // Their tests show it for an endpoint. A worker's connection refuses the options itself.
  './object': { exports: object, others: { React: 'useAgentObject', data: 'useChatObject' } },
};

test.for(Object.entries(entries))(
  'each function of %s refuses an option that it does not have',
  async ([, entry]) => {
    expect(await missingRefusals(entry)).toEqual([]);
  },
);

test.for<[name: string, call: () => unknown, message: string]>([
  [
    'agentEndpoint() with a time limit that is no number',
    () => react.agentEndpoint('/api/chat', { timeoutMs: '5s' as Wrong }),
    'agentEndpoint(): timeoutMs must be a number above 0; got a string.',
  ],
  [
    'agentEndpoint() with headers that are a text',
    () => react.agentEndpoint('/api/chat', { headers: 'x' as Wrong }),
    'agentEndpoint(): headers must be an object or a function; got a string.',
  ],
  [
    'agentEndpoint() without an address',
    () => react.agentEndpoint(undefined as Wrong),
    'agentEndpoint(): api must be a string; got nothing.',
  ],
  [
    'useAgentChat() with a handler that is no function',
    () => handlersIn({ sessionId: 's', onFinish: true as Wrong }),
    'useAgentChat(): onFinish must be a function; got a boolean.',
  ],
  [
    'useAgentChat() with the id under the name of another library',
    () => handlersIn({ id: 's' } as Wrong),
    'useAgentChat() has no option `id`.',
  ],
])('%s says what it must be', ([, call, message]) => {
  const expected = { code: 'CONFIGURATION', message: expect.stringContaining(message) };
  expect(call).toThrow(expect.objectContaining(expected));
});
