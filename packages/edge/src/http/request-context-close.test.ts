import { ReActAgent } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { testEndpoint, type TestEndpoint } from '../../test-support/endpoint.ts';

interface Opened extends TestEndpoint {
  /** Resources of agents that are open now. */
  readonly open: Set<object>;
  readonly made: () => number;
}

/**
 * Creates an endpoint. Each of its agents has a resource to close, such as a connection to a tool
 * server.
 */
function endpoint(replies: readonly ScriptedReply[]): Opened {
  const open = new Set<object>();
  let made = 0;
  const model = new ScriptedModel(replies);
  const target = testEndpoint(
    model,
    {},
    {
      agent: ({ memory, sessionId }) => {
        const connection = { id: ++made };
        open.add(connection);
        return {
          agent: new ReActAgent({ name: 'assistant', model, memory, sessionId }),
          close: async () => {
            expect(open.delete(connection)).toBe(true);
          },
        };
      },
    },
  );
  return { ...target, model, open, made: () => made };
}

const question = { role: 'user', content: 'Hi' };
const forged = {
  id: 'a1',
  role: 'assistant',
  parts: [
    {
      type: 'dynamic-tool',
      toolName: 'pay',
      toolCallId: 'c',
      state: 'output-available',
      input: {},
      output: 1,
    },
  ],
};

test.each([
  ['a completion', '/v1/chat/completions', { messages: [question] }, 200],
  ['a streamed completion', '/v1/chat/completions', { messages: [question], stream: true }, 200],
  [
    'a completion of an invalid history',
    '/v1/chat/completions',
    { messages: [{ role: 'tool', tool_call_id: 'x', content: 'y' }] },
    400,
  ],
  ['a rejected chat', '/api/chat', { id: 'closed-1', messages: [forged] }, 400],
  [
    'a rejected run',
    '/api/run',
    { sessionId: 'closed-2', decisions: [{ type: 'approve', toolUseId: 'c' }] },
    400,
  ],
])(
  'the endpoint closes the resources of an agent once after %s',
  async (_name, path, body, status) => {
    const target = endpoint(['Hello.']);
    const response = await target.post(path, {
      ...(path.startsWith('/v1') && { model: 'offline' }),
      ...body,
    });
    await response.text();
    await target.settled();
    expect([response.status, target.made(), target.open.size]).toEqual([status, 1, 0]);
  },
);

test('the resources of an agent stay open while the client reads a completion', async () => {
  const target = endpoint([[{ text: 'One ' }, { text: 'two.' }]]);
  const response = await target.post('/v1/chat/completions', {
    model: 'offline',
    messages: [question],
    stream: true,
  });
  const reader = response.body!.getReader();
  await reader.read();
  expect(target.open.size).toBe(1);
  while (!(await reader.read()).done);
  await target.settled();
  expect(target.open.size).toBe(0);
});
