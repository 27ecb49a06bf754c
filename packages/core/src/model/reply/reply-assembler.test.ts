import { expect, test } from 'vitest';
import type { AgentError } from '../../error/agent-error.ts';
import type { ModelDelta } from '../chat-model.ts';
import { ReplyAssembler } from './reply-assembler.ts';

function assemble(deltas: readonly ModelDelta[]) {
  const taken = new Set<string>();
  let id = 0;
  const assembler = new ReplyAssembler({
    messageId: 'm',
    toolUseId(given) {
      const toolUseId = given && !taken.has(given) ? given : `call_new${++id}`;
      taken.add(toolUseId);
      return toolUseId;
    },
  });
  const pieces = deltas.map((delta) => assembler.add(delta));
  return {
    pieces,
    content: assembler.content({ partial: false }),
    partial: assembler.content({ partial: true }),
  };
}

test('blocks keep the order in which they started, tool calls come last, and signatures are kept', () => {
  const { content } = assemble([
    { type: 'thinking', id: 't0', delta: 'hm' },
    { type: 'thinking', id: 't0', delta: '', signature: 'sig' },
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '{}' },
    { type: 'text', id: 'x0', delta: 'he' },
    { type: 'thinking', id: 't1', delta: 'more' },
    { type: 'text', id: 'x0', delta: 'llo' },
  ]);
  expect(content).toEqual([
    { type: 'thinking', thinking: 'hm', signature: 'sig' },
    { type: 'text', text: 'hello' },
    { type: 'thinking', thinking: 'more' },
    { type: 'tool_use', id: 'c', name: 'f', input: {} },
  ]);
});

test('arguments that arrive before the tool’s name are released together with the name', () => {
  const { pieces } = assemble([
    { type: 'tool-input', index: 0, id: 'c', delta: '{"a"' },
    { type: 'tool-input', index: 0, name: 'f', delta: ':1' },
    { type: 'tool-input', index: 0, delta: '}' },
  ]);
  expect(pieces).toEqual([
    undefined,
    { type: 'tool-input-chunk', toolUseId: 'c', name: 'f', delta: '{"a":1' },
    { type: 'tool-input-chunk', toolUseId: 'c', name: 'f', delta: '}' },
  ]);
});

test.for([
  ['', {}, undefined],
  ['{"a":1}', { a: 1 }, undefined],
  ['{"a": 1}', { a: 1 }, '{"a": 1}'],
  ['{"a":', null, '{"a":'],
  ['null', null, undefined],
] as const)('ReplyAssembler parses the arguments %j', ([delta, input, raw]) => {
  const { content } = assemble([{ type: 'tool-input', index: 0, id: 'c', name: 'f', delta }]);
  expect(content[0]).toEqual({
    type: 'tool_use',
    id: 'c',
    name: 'f',
    input,
    ...(raw === undefined ? {} : { raw }),
  });
});

test('a partial reply has no tool calls', () => {
  const { partial } = assemble([
    { type: 'text', id: 'x', delta: 'so' },
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '{"a' },
  ]);
  expect(partial).toEqual([{ type: 'text', text: 'so' }]);
});

test('a reply that ends with tool calls and has none is an error, unless the provider ran them', () => {
  const failureOf = (delta: ModelDelta): AgentError | undefined => {
    const assembler = new ReplyAssembler({ messageId: 'm', toolUseId: (id) => id ?? 'c' });
    assembler.add(delta);
    assembler.add({ type: 'finish', reason: 'tool_calls' });
    return assembler.failure;
  };
  expect(failureOf({ type: 'text', id: 't', delta: 'I will look.' })).toMatchObject({
    code: 'MODEL_SERVER',
    retryable: true,
    message: 'The reply ended without a tool call with the finish reason "tool_calls"',
  });
  expect(failureOf({ type: 'tool-input', index: 0, name: 'f', delta: '{}' })).toBeUndefined();
  const hostedTool = { id: 'h', name: 'web_search', input: '{}' };
  const providerMetadata = { hostedTool };
  expect(failureOf({ type: 'text', id: 'h', delta: '', providerMetadata })).toBeUndefined();
});

test('a file delta becomes a block of its kind', () => {
  const { content } = assemble([
    { type: 'file', mediaType: 'image/png', data: 'AA' },
    { type: 'file', mediaType: 'application/pdf', data: 'BB' },
  ]);
  expect(content).toEqual([
    { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'AA' } },
    { type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: 'BB' } },
  ]);
});

test('signatures and metadata that arrive in parts are joined', () => {
  const { content } = assemble([
    { type: 'thinking', id: 't', delta: 'hm', signature: 'one', providerMetadata: { a: 1 } },
    { type: 'thinking', id: 't', delta: '', signature: 'two', providerMetadata: { b: 2 } },
  ]);
  expect(content).toEqual([
    { type: 'thinking', thinking: 'hm', signature: 'onetwo', providerMetadata: { a: 1, b: 2 } },
  ]);
});
