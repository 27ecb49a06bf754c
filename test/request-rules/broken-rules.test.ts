import { expect, test } from 'vitest';
import { aiSdkRules } from './ai-sdk-rules.ts';
import { brokenRules, type RequestWire } from './broken-rules.ts';
import { chatRules } from './chat-rules.ts';
import { dashScopeRules } from './dashscope-rules.ts';
import type { RequestRule, Wire } from './request-rule.ts';
import { responsesRules } from './responses-rules.ts';

type Case = readonly [id: string, change: Wire, at: string, target?: string];
type Row = readonly [RequestWire, good: Wire, readonly Case[], readonly RequestRule[]];

const half = '😀'.slice(0, 1);
const schema = { type: 'object', properties: {} };
const tools = [{ type: 'function', function: { name: 'clock', parameters: schema } }];

/** Returns a call in chat completions. */
const call = (fields: Wire = {}, id = 'call_1'): Wire => ({
  id,
  type: 'function',
  function: { name: 'clock', arguments: '{}', ...fields },
});
const result = { role: 'tool', tool_call_id: 'call_1', content: '12:00' };
const user = { role: 'user', content: 'Hi' };
const reply = (calls: readonly Wire[]): Wire => ({ role: 'assistant', tool_calls: calls });
const round = (fields: Wire): Wire => ({ messages: [user, reply([call(fields)]), result] });
const withTool = (fields: Wire): Wire => ({
  tools: [{ type: 'function', function: { name: 'clock', parameters: schema, ...fields } }],
});
const strict = (parameters: Wire): Wire => withTool({ strict: true, parameters });
const strictObject = (properties: Wire): Wire => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const chat: Wire = {
  model: 'm',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Hi' }], name: 'Ann' },
    reply([call(), call({ name: 'w-1_a', arguments: '{"a":"😀"}' }, 'call_2')]),
    { ...result, tool_call_id: 'call_2' },
    result,
    { role: 'assistant', content: 'Noon.' },
  ],
  tools,
  tool_choice: 'auto',
  stop: ['a'],
  temperature: 0,
  stream_options: { include_usage: true },
};

const openai = 'https://api.openai.com/v1/chat/completions';
const longId = 'i'.repeat(65);

const chatCases: readonly Case[] = [
  ['well-formed-text', { messages: [{ role: 'user', content: half }] }, 'messages[0].content'],
  ['well-formed-text', { user: half }, 'user'],
  ['well-formed-text', { metadata: { [half]: 1 } }, `metadata.${half}`],
  [
    'well-formed-text',
    round({ arguments: JSON.stringify({ a: half }) }),
    'messages[1].tool_calls[0].function.arguments.a',
  ],
  ['some-messages', { messages: [] }, 'messages'],
  ['message-content', { messages: [{ role: 'model', content: 'Hi' }] }, 'messages[0]'],
  ['message-content', { messages: [{ role: 'user', content: null }] }, 'messages[0]'],
  ['message-content', { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] }, 'messages[0]'],
  ['filled-replies', { messages: [user, { role: 'assistant', content: '' }] }, 'messages[1]'],
  ['filled-replies', { messages: [user, { role: 'assistant', content: null }] }, 'messages[1]'],
  [
    'filled-replies',
    { messages: [user, { role: 'assistant', content: 'Hi', tool_calls: [] }] },
    'messages[1]',
  ],
  ['filled-input', { messages: [{ role: 'user', content: '' }] }, 'messages[0]'],
  [
    'filled-input',
    { messages: [{ role: 'user', content: [{ type: 'text', text: ' ' }] }] },
    'messages[0]',
  ],
  [
    'filled-input',
    { messages: [user, reply([call()]), { ...result, content: '' }] },
    'messages[2]',
    'https://api.anthropic.com/v1/chat/completions',
  ],
  ['speaker-name', { messages: [{ ...user, name: 'Ann Lee' }] }, 'messages[0]'],
  ['called-name', round({ name: '天气' }), 'messages[1].tool_calls[0].function'],
  ['called-name', round({ name: 'n'.repeat(65) }), 'messages[1].tool_calls[0].function'],
  [
    'call-id',
    {
      messages: [user, reply([call({}, longId)]), { ...result, tool_call_id: longId }],
    },
    'messages[1].tool_calls[0]',
  ],
  ['object-arguments', round({ arguments: '["Rome"]' }), 'messages[1].tool_calls[0].function'],
  ['object-arguments', round({ arguments: '' }), 'messages[1].tool_calls[0].function'],
  ['answered-calls', { messages: [user, reply([call()])] }, 'messages[1]'],
  ['answered-calls', { messages: [user, reply([call()]), result, result] }, 'messages[1]'],
  ['answered-calls', { messages: [user, reply([call(), call()]), result] }, 'messages[1]'],
  ['called-results', { messages: [user, result] }, 'messages[1]'],
  ['called-results', { messages: [user, reply([call()]), result, user, result] }, 'messages[4]'],
  ['tool-name', withTool({ name: 'get weather' }), 'tools[0].function'],
  ['unique-tool-names', { tools: [...tools, ...tools] }, 'tools[1].function'],
  ['object-schema', withTool({ parameters: {} }), 'tools[0].function'],
  ['object-schema', withTool({ parameters: { ...schema, anyOf: [] } }), 'tools[0].function'],
  ['schema-properties', withTool({ parameters: { type: 'object' } }), 'tools[0].function'],
  [
    'array-items',
    withTool({ parameters: { type: 'object', properties: { a: { type: ['array', 'null'] } } } }),
    'tools[0].function.parameters.properties.a',
  ],
  ['strict-schema', strict(schema), 'tools[0].function.parameters'],
  [
    'strict-schema',
    strict(strictObject({ a: { type: 'string', format: 'uri' } })),
    'tools[0].function.parameters.properties.a.format',
  ],
  [
    'strict-schema',
    strict(strictObject({ a: { type: 'array', items: { oneOf: [] } } })),
    'tools[0].function.parameters.properties.a.items.oneOf',
  ],
  [
    'strict-schema',
    { response_format: { type: 'json_schema', json_schema: { name: 'r', strict: true, schema } } },
    'response_format.json_schema.schema',
  ],
  [
    'format-name',
    { response_format: { type: 'json_schema', json_schema: { name: 'a b' } } },
    'response_format.json_schema',
  ],
  ['choice-with-tools', { tools: undefined }, 'tool_choice'],
  ['choice-with-tools', { tools: [] }, 'tools'],
  [
    'parallel-with-tools',
    { tools: undefined, tool_choice: undefined, parallel_tool_calls: false },
    'parallel_tool_calls',
  ],
  ['stop-count', { stop: [...'abcde'] }, 'stop', openai],
  ['sampling', { temperature: 2.1 }, 'temperature'],
  ['fixed-temperature', { model: 'gpt-5-mini', temperature: 0.3 }, 'temperature', openai],
  ['completion-tokens', { model: 'o3-mini', max_tokens: 9 }, 'max_tokens', openai],
  ['known-fields', { of_nobody: 1 }, 'of_nobody'],
  ['known-fields', { enable_thinking: true }, 'enable_thinking', openai],
  [
    'known-message-fields',
    { messages: [user, { role: 'assistant', content: 'Hi', reasoning_content: 'x' }] },
    'messages[1].reasoning_content',
    'https://api.mistral.ai/v1/chat/completions',
  ],
  [
    'mistral-order',
    { messages: [user, { role: 'assistant', content: 'Hi' }] },
    'messages[1]',
    'https://api.mistral.ai/v1/c',
  ],
  ['mistral-order', { messages: [user, user] }, 'messages[0]', 'https://api.mistral.ai/v1/c'],
  [
    'known-call-fields',
    { messages: [user, reply([{ ...call(), extra_content: {} }]), result] },
    'messages[1].tool_calls[0].extra_content',
    openai,
  ],
  [
    'known-call-fields',
    round({ thought: 'x' }),
    'messages[1].tool_calls[0].function.thought',
    'https://api.mistral.ai/v1/c',
  ],
  ['mistral-seed', { seed: 7 }, 'seed', 'https://api.mistral.ai/v1/c'],
  [
    'leading-system',
    { model: 'qwen3.6', messages: [user, { role: 'system', content: 'Hi' }] },
    'messages[1]',
  ],
  ['mistral-call-id', round({}), 'messages[1].tool_calls[0]', 'https://api.mistral.ai/v1/c'],
  [
    'anthropic-call-id',
    {
      messages: [
        user,
        reply([call({}, 'functions.w:0')]),
        { ...result, tool_call_id: 'functions.w:0' },
      ],
    },
    'messages[1].tool_calls[0]',
    'https://api.anthropic.com/v1/chat/completions',
  ],
  [
    'deepseek-reasoning',
    { ...round({}), model: 'deepseek-reasoner' },
    'messages[1]',
    'https://api.deepseek.com/chat/completions',
  ],
];

const functionCall = { type: 'function_call', call_id: 'call_1', name: 'clock', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'call_1', output: '12:00' };
const responsesTool = { type: 'function', name: 'clock', parameters: schema, strict: false };

const responses: Wire = {
  model: 'm',
  input: [
    user,
    { type: 'reasoning', id: 'rs_1', summary: [] },
    functionCall,
    output,
    { role: 'assistant', content: 'Noon.' },
  ],
  tools: [responsesTool, { type: 'web_search' }],
};

const longCall = 'i'.repeat(65);

const responsesCases: readonly Case[] = [
  ['well-formed-text', { instructions: half }, 'instructions'],
  ['message-content', { input: [{ role: 'tool', content: 'Hi' }] }, 'input[0]'],
  ['message-content', { input: [{ role: 'user', content: [{ type: 'text' }] }] }, 'input[0]'],
  ['tool-name', { input: [{ ...functionCall, name: '$READFILE' }, output] }, 'input[0]'],
  ['tool-name', { tools: [{ ...responsesTool, name: '' }] }, 'tools[0]'],
  [
    'call-id',
    {
      input: [
        { ...functionCall, call_id: longCall },
        { ...output, call_id: longCall },
      ],
    },
    'input[0]',
  ],
  ['item-id', { input: [{ ...functionCall, id: 'call_1' }, output] }, 'input[0]', openai],
  ['object-arguments', { input: [{ ...functionCall, arguments: '5' }, output] }, 'input[0]'],
  ['answered-calls', { input: [functionCall] }, 'input[0]'],
  ['answered-calls', { input: [functionCall, output, output] }, 'input[0]'],
  ['called-results', { input: [user, output] }, 'input[1]'],
  ['called-results', { input: [output, functionCall] }, 'input[0]'],
  ['followed-reasoning', { input: [{ type: 'reasoning', summary: [] }, user] }, 'input[0]'],
  ['reasoning-summary', { input: [{ type: 'reasoning' }, functionCall, output] }, 'input[0]'],
  ['object-schema', { tools: [{ ...responsesTool, parameters: {} }] }, 'tools[0]'],
  [
    'schema-properties',
    { tools: [{ ...responsesTool, parameters: { type: 'object' } }] },
    'tools[0]',
  ],
  [
    'array-items',
    { tools: [{ ...responsesTool, parameters: { ...schema, $defs: { a: { type: 'array' } } } }] },
    'tools[0].parameters.$defs.a',
  ],
  ['some-input', { input: [] }, 'input'],
  ['some-input', { input: '' }, 'input'],
  // Without the field, the API makes a schema strict.
  [
    'strict-schema',
    { tools: [{ type: 'function', name: 'clock', parameters: schema }] },
    'tools[0].parameters',
  ],
  ['strict-schema', { text: { format: { strict: true, schema } } }, 'text.format.schema'],
  ['known-fields', { messages: [] }, 'messages'],
];

const inChat = (fields: Wire): Wire => ({ input: { messages: fields['messages'] } });
const parameters: Wire = { result_format: 'message', incremental_output: true, tools };
const withParameters = (fields: Wire): Wire => ({ parameters: { ...parameters, ...fields } });

const dashScope: Wire = {
  model: 'm',
  input: { messages: [user, { ...reply([call()]), content: '' }, result] },
  parameters,
};

const dashScopeCases: readonly Case[] = [
  [
    'well-formed-text',
    inChat({ messages: [{ role: 'user', content: half }] }),
    'input.messages[0].content',
  ],
  ['model', { model: undefined }, 'model'],
  ['some-messages', { input: {} }, 'input.messages'],
  ['tools-format', withParameters({ result_format: 'text' }), 'parameters.result_format'],
  [
    'incremental-thinking',
    withParameters({ enable_thinking: true, incremental_output: false }),
    'parameters.incremental_output',
  ],
  ['thinking-budget', withParameters({ thinking_budget: 0 }), 'parameters.thinking_budget'],
  ['tool-choice', withParameters({ tool_choice: 'required' }), 'parameters.tool_choice'],
  [
    'thinking-choice',
    withParameters({ tool_choice: {}, enable_thinking: true }),
    'parameters.tool_choice',
  ],
  ['role', inChat({ messages: [{ role: 'USER', content: 'Hi' }] }), 'input.messages[0]'],
  [
    'result-id',
    inChat({ messages: [reply([call()]), { role: 'tool', content: 'x' }] }),
    'input.messages[1]',
  ],
  ['message-content', inChat({ messages: [{ role: 'user' }] }), 'input.messages[0]'],
  [
    'message-content',
    inChat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }),
    'input.messages[0]',
  ],
  [
    'message-content',
    {},
    'input.messages[0]',
    'https://x.test/api/v1/services/aigc/multimodal-generation/generation',
  ],
  ['called-name', inChat(round({ name: '' })), 'input.messages[1].tool_calls[0].function'],
  [
    'object-arguments',
    inChat(round({ arguments: '5' })),
    'input.messages[1].tool_calls[0].function',
  ],
  ['answered-calls', inChat({ messages: [user, reply([call()])] }), 'input.messages[1]'],
  ['called-results', inChat({ messages: [user, result] }), 'input.messages[1]'],
  ['tool-name', withParameters(withTool({ name: '' })), 'parameters.tools[0].function'],
  ['object-schema', withParameters(withTool({ parameters: {} })), 'parameters.tools[0].function'],
  ['known-fields', withParameters({ of_nobody: 1 }), 'parameters.of_nobody'],
];

const toolCall = { type: 'tool-call', toolCallId: 'call_1', toolName: 'clock', input: {} };
const toolResult = { type: 'tool-result', toolCallId: 'call_1', toolName: 'clock', output: {} };
const aiSdkUser = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
const aiSdkTool = { type: 'function', name: 'clock', inputSchema: schema };
const aiSdkRound = (fields: Wire, answer: Wire = {}): Wire => ({
  prompt: [
    aiSdkUser,
    { role: 'assistant', content: [{ ...toolCall, ...fields }] },
    { role: 'tool', content: [{ ...toolResult, ...answer }] },
  ],
});

const aiSdk: Wire = { ...aiSdkRound({}), tools: [aiSdkTool] };

const aiSdkCases: readonly Case[] = [
  ['well-formed-text', { prompt: [{ role: 'system', content: half }] }, 'prompt[0].content'],
  ['some-messages', { prompt: [] }, 'prompt'],
  ['message-content', { prompt: [{ role: 'user', content: 'Hi' }] }, 'prompt[0]'],
  ['message-content', { prompt: [{ role: 'assistant', content: [] }] }, 'prompt[0]'],
  ['tool-name', aiSdkRound({ toolName: 'w<|channel|>x' }), 'prompt[1].content[0]'],
  ['tool-name', { tools: [{ ...aiSdkTool, name: '' }] }, 'tools[0]'],
  ['unique-tool-names', { tools: [aiSdkTool, aiSdkTool] }, 'tools[1]'],
  ['call-id', aiSdkRound({ toolCallId: '' }, { toolCallId: '' }), 'prompt[1].content[0]'],
  [
    'call-id',
    aiSdkRound({ toolCallId: 'a:0' }, { toolCallId: 'a:0' }),
    'prompt[1].content[0]',
    'anthropic.messages',
  ],
  [
    'call-id',
    aiSdkRound({ toolCallId: longId }, { toolCallId: longId }),
    'prompt[1].content[0]',
    'openai.chat',
  ],
  ['object-arguments', aiSdkRound({ input: 'Rome' }), 'prompt[1].content[0]'],
  ['answered-calls', { prompt: [{ role: 'assistant', content: [toolCall] }] }, 'prompt[0]'],
  ['called-results', { prompt: [{ role: 'tool', content: [toolResult] }] }, 'prompt[0]'],
  ['object-schema', { tools: [{ ...aiSdkTool, inputSchema: {} }] }, 'tools[0]'],
  ['schema-properties', { tools: [{ ...aiSdkTool, inputSchema: { type: 'object' } }] }, 'tools[0]'],
  [
    'array-items',
    { tools: [{ ...aiSdkTool, inputSchema: { ...schema, properties: { a: { type: 'array' } } } }] },
    'tools[0].inputSchema.properties.a',
  ],
  ['known-fields', { messages: [] }, 'messages'],
];

const wires: readonly Row[] = [
  ['chat-completions', chat, chatCases, chatRules],
  ['responses', responses, responsesCases, responsesRules],
  ['dashscope', dashScope, dashScopeCases, dashScopeRules],
  ['ai-sdk', aiSdk, aiSdkCases, aiSdkRules],
];

for (const [wire, good, cases, rules] of wires) {
  test(`${wire}: a good request breaks no rule, as an object and as JSON text`, () => {
    expect(brokenRules(wire, good)).toEqual([]);
    expect(brokenRules(wire, JSON.stringify(good))).toEqual([]);
  });

  test.for(cases)(`${wire}: the rule %s refuses %j at %s`, ([id, change, at, target = '']) => {
    const broken = brokenRules(wire, { ...good, ...change }, target);
    const places = broken.filter((rule) => rule.id === `${wire}/${id}`).flatMap((rule) => rule.at);
    expect(places).toContain(at);
  });

  test(`${wire}: each rule has a case, a sentence and a source`, () => {
    expect([...new Set(cases.map(([id]) => id))].toSorted()).toEqual(
      rules.map(({ id }) => id).toSorted(),
    );
    for (const { text, source } of rules) {
      expect(text).toMatch(/^.{20,}$/);
      expect(source).toMatch(/^https:\/\//);
    }
  });
}

test('a body that is not a JSON object breaks a rule of every format', () => {
  const formats: readonly RequestWire[] = [...wires.map(([wire]) => wire), 'json'];
  for (const format of formats)
    for (const body of ['', '[]', '{', 'null'])
      expect(brokenRules(format, body).map(({ id }) => id)).toEqual([`${format}/json-object`]);
});

test('the rules of one server do not apply to another', () => {
  const target = 'https://llm.example.com/v1/chat/completions';
  const request = { ...chat, enable_thinking: true, stop: [...'abcde'] };
  expect(brokenRules('chat-completions', request, target)).toEqual([]);
});

test('an example in a schema is no schema, and OpenAI takes an empty message', () => {
  const withExample = {
    type: 'object',
    properties: { type: { type: 'array', items: {}, examples: [{ type: 'array' }] } },
  };
  expect(
    brokenRules('chat-completions', { ...chat, ...withTool({ parameters: withExample }) }),
  ).toEqual([]);
  const messages = [{ role: 'user', content: '' }];
  expect(brokenRules('chat-completions', { ...chat, messages }, openai)).toEqual([]);
  const input = { ...responses, input: undefined, previous_response_id: 'resp_1' };
  expect(brokenRules('responses', input)).toEqual([]);
});
