import { expect, test } from 'vitest';
import '../strict-assert.ts';
import {
  assistantMessage,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  toolMessage,
  type ContentBlock,
  type JsonValue,
  type Msg,
  type ToolResult,
} from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
// #region import-chats
import { fromUiMessage } from '@isoloop/core/stream';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
// #endregion

const chat: readonly UIMessage[] = [
  { id: 's1', role: 'system', parts: [{ type: 'text', text: 'You are strict.' }] },
  { id: 'u0', role: 'user', parts: [{ type: 'data-place', data: 'Rome' }] },
  { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'What is 2 + 40?' }] },
  {
    id: 'a1',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'I add.' },
      {
        type: 'tool-add',
        toolCallId: 'call-1',
        state: 'output-available',
        input: { a: 2, b: 40 },
        output: { sum: 42 },
      },
      {
        type: 'tool-log',
        toolCallId: 'call-3',
        state: 'output-available',
        input: {},
        output: undefined,
      },
      {
        type: 'dynamic-tool',
        toolName: 'check',
        toolCallId: 'call-2',
        state: 'output-error',
        input: undefined,
        errorText: 'It is closed.',
      },
      { type: 'step-start' },
      { type: 'text', text: 'It is 42.' },
      { type: 'tool-add', toolCallId: 'open', state: 'input-available', input: {} },
    ],
  },
];

test('a stored chat of AI SDK becomes a conversation that an agent continues', async () => {
  const store = new MemoryStore();
  const model = new ScriptedModel(['Six by seven.']);

  // #region import-chats
  const toMessages = ({ role, parts, ...message }: UIMessage): readonly Msg[] => {
    if (role === 'system') return []; // the agent has its own systemPrompt
    const known = parts.filter(({ type }) => type === 'text' || type === 'file');
    if (role === 'user' && !known.length) return [];
    if (role === 'user') return [fromUiMessage({ ...message, role, parts: known })];
    const messages: Msg[] = [];
    let content: ContentBlock[] = [];
    let results: ToolResult[] = [];
    const endStep = (): void => {
      if (content.length) messages.push(assistantMessage(content));
      if (results.length) messages.push(toolMessage(results));
      content = [];
      results = [];
    };
    for (const part of parts) {
      if (part.type === 'step-start') endStep();
      if (part.type === 'text' && part.text) content.push({ type: 'text', text: part.text });
      if (!isToolUIPart(part) || part.providerExecuted) continue;
      const [name, id] = [getToolName(part), part.toolCallId];
      const result = { type: 'tool_result', toolUseId: id, name } as const;
      if (part.state === 'output-available')
        results.push({ ...result, output: JSON.stringify(part.output ?? null), state: 'success' });
      else if (part.state === 'output-error')
        results.push({ ...result, output: part.errorText, state: 'error' });
      else continue; // a call without a result is left out
      content.push({ type: 'tool_use', id, name, input: (part.input ?? {}) as JsonValue });
    }
    endStep();
    return messages;
  };

  await new SessionMemory(store, 'chat-7').append(chat.flatMap(toMessages));
  // #endregion

  const memory = new SessionMemory(store, 'chat-7');
  const agent = new ReActAgent({ name: 'assistant', model, memory });
  expect((await agent.call('Why?')).text).toBe('Six by seven.');
  const { messages } = model.requests[0]!;
  expect(messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
  expect(messages[1]!.content).toHaveLength(3);
  expect(messages[2]!.content).toMatchObject([
    { toolUseId: 'call-1', output: '{"sum":42}', state: 'success' },
    { toolUseId: 'call-3', output: 'null', state: 'success' },
    { toolUseId: 'call-2', output: 'It is closed.', state: 'error' },
  ]);
  expect(messages[3]!.content).toEqual([{ type: 'text', text: 'It is 42.' }]);
});
