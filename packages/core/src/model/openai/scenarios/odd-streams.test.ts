import { expect, test } from 'vitest';
import { AgentError } from '../../../error/agent-error.ts';
import { thinkingOf } from '../../../message/msg.ts';
import { openai, type OpenAiOptions } from '../openai.ts';
import { ReActAgent } from '../../../react-agent/react-agent.ts';
import { tool } from '../../../tool/tool.ts';

/** What a user sees of a reply: its text and the calls that ran, or the error. */
type Seen =
  | {
      readonly text: string;
      readonly ran: readonly unknown[];
      readonly thinking?: string;
      readonly incomplete?: string;
    }
  | { readonly code: string; readonly retryable: boolean; readonly ran: readonly unknown[] };

interface Report {
  readonly name: string;
  readonly source: string;
  readonly body: string;
  readonly seen: Seen;
  readonly options?: Partial<OpenAiOptions>;
}

const github = (path: string): string => `https://github.com/${path}`;
const event = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`;
const done = 'data: [DONE]\n\n';
const choice = (fields: object): string => event({ id: 'r', choices: [fields] });
const delta = (fields: object, reason: string | null = null): string =>
  choice({ index: 0, delta: fields, finish_reason: reason });
const call = { id: 'c', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
const oslo = { id: 'd', function: { name: 'weather', arguments: '{"city":"Oslo"}' } };
const indexed = { index: 0, ...call };
const fragment = (args: string): string =>
  delta({ tool_calls: [{ index: 0, function: { arguments: args } }] });

const rome = [{ city: 'Rome' }];
const both = [{ city: 'Rome' }, { city: 'Oslo' }];
const answered = (ran: readonly unknown[]): Seen => ({ text: 'Sun.', ran });
const says = (text: string, more: object = {}): Seen => ({ text, ran: [], ...more });
const fails = (code: string, retryable: boolean): Seen => ({ code, retryable, ran: [] });
const early = fails('MODEL_BAD_RESPONSE', true);

const reports: readonly Report[] = [
  {
    name: 'text in the first choice and each call in a choice of its own, in one piece',
    source: github('HKUDS/nanobot/pull/1555'),
    body: JSON.stringify({
      choices: [
        { finish_reason: 'tool_calls', message: { content: 'I look.' } },
        { finish_reason: 'tool_calls', message: { tool_calls: [call] } },
        { finish_reason: 'tool_calls', message: { tool_calls: [oslo] } },
      ],
    }),
    seen: answered(both),
  },
  {
    name: 'numbered choices, of which only the later ones have the calls',
    source: github('HKUDS/nanobot/pull/1555'),
    body: [
      delta({ content: 'I look.' }),
      choice({ index: 1, delta: { tool_calls: [indexed] } }),
      delta({}, 'tool_calls'),
      choice({ index: 2, delta: { tool_calls: [{ index: 0, ...oslo }] } }),
      done,
    ].join(''),
    seen: answered(both),
  },
  {
    name: 'a second choice that is another answer',
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
    body: [
      delta({ tool_calls: [indexed] }),
      choice({ index: 1, delta: { tool_calls: [{ index: 0, ...oslo }] } }),
      delta({}, 'tool_calls'),
      choice({ index: 1, delta: {}, finish_reason: 'tool_calls' }),
      done,
    ].join(''),
    seen: answered(rome),
  },
  {
    name: 'the whole message after its deltas',
    source: github('ENTERPILOT/GoModel/pull/1068'),
    body: [
      delta({ reasoning_content: 'Hm.' }),
      delta({ content: 'Hel' }),
      delta({ content: 'lo' }, 'stop'),
      choice({
        index: 0,
        message: { content: 'Hello', reasoning_content: 'Hm.' },
        finish_reason: 'stop',
      }),
      done,
    ].join(''),
    seen: says('Hello', { thinking: 'Hm.' }),
  },
  {
    name: 'the whole message with its call after its deltas',
    source: github('abundantbeing/hermes-browser-extension/issues/11'),
    body: [
      delta({ tool_calls: [indexed] }),
      choice({ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }),
      done,
    ].join(''),
    seen: answered(rome),
  },
  {
    name: 'a last chunk of a message after a delta without content',
    source: github('Portkey-AI/gateway/issues/858'),
    body: [
      delta({ role: 'assistant', content: '' }),
      choice({ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }),
      done,
    ].join(''),
    seen: says('Hello'),
  },
  {
    name: 'the finish reason "null" in each chunk, and a cut call',
    source: github('PowerShell/AIShell/issues/350'),
    body:
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'weather' } }] }, 'null') +
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"city":' } }] }, 'null'),
    seen: early,
  },
  {
    name: 'the finish reason "null" in each chunk, and [DONE]',
    source: github('PowerShell/AIShell/issues/350'),
    body: delta({ content: 'Hi' }, 'null') + done,
    seen: says('Hi', { incomplete: 'other' }),
  },
  {
    name: 'text without a finish reason, and [DONE]',
    source: github('abetlen/llama-cpp-python/issues/735'),
    body: delta({ content: 'Half of a sen' }) + done,
    seen: says('Half of a sen', { incomplete: 'other' }),
  },
  {
    name: 'thinking and text without a finish reason, and [DONE]',
    source: github('BerriAI/litellm/issues/10686'),
    body: delta({ reasoning_content: 'Hm.' }) + delta({ content: 'Hal' }) + done,
    seen: says('Hal', { thinking: 'Hm.', incomplete: 'other' }),
  },
  {
    name: 'the whole message without a finish reason',
    source: github('abetlen/llama-cpp-python/issues/735'),
    body: JSON.stringify({ choices: [{ message: { content: 'Hello' } }] }),
    seen: says('Hello'),
  },
  {
    name: 'the finish reason "" in each chunk',
    source: github('sgl-project/sglang/issues/3912'),
    body: delta({ content: 'Hi' }, '') + delta({}, 'stop'),
    seen: says('Hi'),
  },
  {
    name: '`tool_calls` and then `stop`',
    source: github('RayBytes/ChatMock/pull/114'),
    body:
      delta({ content: 'I look.' }) +
      delta({ tool_calls: [indexed] }, 'tool_calls') +
      delta({}, 'stop'),
    seen: answered(rome),
  },
  {
    name: '`length` and then `stop`',
    source: github('sgl-project/sglang/pull/8417'),
    body: delta({ content: 'Half' }) + delta({}, 'length') + delta({}, 'stop') + done,
    seen: says('Half', { incomplete: 'length' }),
  },
  {
    name: '`stop` with thinking, before the text and its reason',
    source: github('open-webui/open-webui/issues/16377'),
    body: [
      delta({ reasoning_content: 'Hm' }, 'stop'),
      delta({ reasoning_content: '.' }, 'stop'),
      delta({ content: 'Half' }),
      delta({}, 'length'),
    ].join(''),
    seen: says('Half', { thinking: 'Hm.', incomplete: 'length' }),
  },
  {
    name: '`stop` beside calls',
    source: github('googleapis/python-genai/issues/2868'),
    body:
      delta({ content: 'I look.' }) + delta({ tool_calls: [indexed] }) + delta({}, 'stop') + done,
    seen: answered(rome),
  },
  {
    name: 'a call in the chunk with the finish reason',
    source: github('ranxianglei/billion-context/issues/432'),
    body:
      delta({ tool_calls: [indexed] }) +
      delta({ tool_calls: [{ index: 1, ...oslo }] }, 'tool_calls') +
      done,
    seen: answered(both),
  },
  {
    name: 'a whole call without a finish reason, and [DONE]',
    source: github('earendil-works/pi/issues/6226'),
    body: delta({ tool_calls: [indexed] }) + done,
    seen: answered(rome),
  },
  {
    name: 'a whole call without a finish reason and without [DONE]',
    source: github('earendil-works/pi/issues/6226'),
    body: delta({ tool_calls: [indexed] }),
    seen: early,
  },
  {
    name: 'the whole arguments after their first part',
    source: github('anomalyco/opencode/pull/17339'),
    body: [
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'weather' } }] }),
      fragment('{"city":"Ro'),
      fragment('{"city":"Rome"}'),
      delta({}, 'tool_calls'),
    ].join(''),
    seen: answered(rome),
  },
  {
    name: 'empty arguments before the arguments',
    source: github('envoyproxy/ai-gateway/issues/1465'),
    body: [
      delta({
        tool_calls: [{ index: 0, id: 'c', function: { name: 'weather', arguments: '{}' } }],
      }),
      fragment('{"city":'),
      fragment('"Rome"}'),
      delta({}, 'tool_calls'),
    ].join(''),
    seen: answered(rome),
  },
  {
    name: '[DONE] alone',
    source: github('NousResearch/hermes-agent/issues/65631'),
    body: done,
    seen: early,
  },
  {
    name: 'no byte',
    source: github('preloop/preloop/pull/121'),
    body: '',
    seen: early,
  },
  {
    name: 'a comment alone',
    source: github('preloop/preloop/pull/121'),
    body: ': ping\n\n',
    seen: early,
  },
  {
    name: 'a role and [DONE]',
    source: github('omnigent-ai/omnigent/pull/1189'),
    body: delta({ role: 'assistant', content: '' }) + done,
    seen: early,
  },
  {
    name: 'an error in `error_message`',
    source: github('NousResearch/hermes-agent/issues/65631'),
    body:
      event({
        choices: null,
        error_message: 'Requested input length 9 exceeds maximum input length 8',
      }) + done,
    seen: fails('MODEL_CONTEXT_LENGTH', false),
  },
  {
    name: 'an error in `base_resp`',
    source: github('CherryHQ/cherry-studio/issues/11287'),
    body: JSON.stringify({
      choices: null,
      base_resp: { status_code: 1002, status_msg: 'rate limit exceeded(RPM)' },
    }),
    seen: fails('MODEL_RATE_LIMITED', true),
  },
  {
    name: 'a `base_resp` without an error',
    source: 'https://platform.minimax.io/docs/api-reference/errorcode.md',
    body:
      delta({ role: '', content: 'Hi' }) +
      event({
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
        base_resp: { status_code: 0, status_msg: '' },
      }),
    seen: says('Hi'),
  },
  {
    name: 'two calls with one index, and empty ids after their heads',
    source: github('InternLM/lmdeploy/issues/3412'),
    body: [
      delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'weather', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 0, id: '', function: { arguments: '{"city":"Rome"}' } }] }),
      delta({ tool_calls: [{ index: 0, id: 'd', function: { name: 'weather', arguments: '' } }] }),
      delta({ tool_calls: [{ index: 0, id: '', function: { arguments: '{"city":"Oslo"}' } }] }),
      delta({}, 'tool_calls'),
    ].join(''),
    seen: answered(both),
  },
  {
    name: 'a call with the arguments null',
    source: github('vllm-project/vllm/issues/9693'),
    body: [
      delta({
        tool_calls: [{ index: 0, id: 'c', function: { name: 'weather', arguments: null } }],
      }),
      delta({ content: '' }, 'tool_calls'),
      event({ choices: [] }),
    ].join(''),
    seen: answered([{}]),
  },
  {
    name: 'an error beside empty choices',
    source: github('diegosouzapw/OmniRoute/pull/8210'),
    body:
      event({ choices: [], error: { code: 502, message: 'Worker local total request limit' } }) +
      done,
    seen: fails('MODEL_SERVER', true),
  },
  {
    name: 'an error after a part of the text',
    source: github('doublewordai/control-layer/pull/1048'),
    body:
      delta({ content: 'Half' }) +
      event({ error: { message: 'engine crashed', code: 500 } }) +
      done,
    seen: fails('MODEL_SERVER', true),
  },
  {
    name: 'no space after `data:`, CRLF and a byte-order mark',
    source: github('davidmigloz/langchain_dart/issues/778'),
    body: `\uFEFF${delta({ content: 'Hi 😀' }, 'stop')}${done}`
      .replaceAll('data: ', 'data:')
      .replaceAll('\n', '\r\n'),
    seen: says('Hi 😀'),
  },
  {
    name: 'empty events and comments between the events',
    source: github('Growth-Circle/cadis/issues/362'),
    body: `data:\n\n: ping\n\nevent: ping\ndata: \n\n${delta({ content: 'Hi' }, 'stop')}data:\n\n${done}`,
    seen: says('Hi'),
  },
  {
    name: 'content in parts, with a reference',
    source: github('meilisearch/meilisearch/pull/6327'),
    body: [
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }] }),
      delta({
        content: [
          { type: 'reference', reference_ids: [1] },
          { type: 'text', text: 'Hi' },
        ],
      }),
      delta({ content: ' you' }, 'stop'),
    ].join(''),
    seen: says('Hi you', { thinking: 'Hm.' }),
  },
  {
    name: 'thinking in two fields',
    source: github('MoonshotAI/kimi-code/issues/3928'),
    body: delta({ reasoning: 'Hm.', reasoning_content: 'Hm.' }) + delta({ content: 'Hi' }, 'stop'),
    seen: says('Hi', { thinking: 'Hm.' }),
  },
  {
    name: 'thinking in `reasoning_text`',
    source: github('karthink/gptel/issues/1384'),
    body: delta({ reasoning_text: 'Hm.' }) + delta({ content: 'Hi' }, 'stop'),
    seen: says('Hi', { thinking: 'Hm.' }),
  },
  {
    name: 'thinking in a field and within the text',
    source: github('can1357/oh-my-pi/pull/2434'),
    body: [
      delta({ content: '<think>Hm', reasoning_content: 'Hm' }),
      delta({ content: '.</think>', reasoning_content: '.' }),
      delta({ content: '\n\nHi' }, 'stop'),
    ].join(''),
    options: { baseURL: 'https://api.minimax.io/v1', model: 'MiniMax-M3' },
    seen: says('Hi', { thinking: 'Hm.' }),
  },
  {
    name: 'the tags of Seed-OSS',
    source: github('open-webui/open-webui/issues/16856'),
    body: delta({ content: '<seed:think>Hm.</seed:' }) + delta({ content: 'think>Hi' }, 'stop'),
    options: { thinkTags: true },
    seen: says('Hi', { thinking: 'Hm.' }),
  },
];

function modelFor({ body, options }: Report) {
  const replies = [body, delta({ content: 'Sun.' }, 'stop')];
  const headers = {
    'content-type': body.startsWith('{') ? 'application/json' : 'text/event-stream',
  };
  return openai({
    model: 'm',
    baseURL: 'https://models.test/v1',
    fetch: async () => new Response(replies.shift(), { headers }),
    ...options,
  });
}

async function seenOf(report: Report): Promise<Seen> {
  const ran: unknown[] = [];
  const weather = tool({
    name: 'weather',
    description: '',
    input: { type: 'object', properties: {} },
    execute: (input) => `Sun ${ran.push(input)}`,
  });
  const agent = new ReActAgent({ name: 'a', model: modelFor(report), tools: [weather] });
  try {
    const { text, message, incomplete } = await agent.call('Weather?');
    const thinking = thinkingOf(message).join('');
    return { text, ran, ...(thinking && { thinking }), ...(incomplete && { incomplete }) };
  } catch (error) {
    if (!AgentError.is(error)) throw error;
    return { code: error.code, retryable: error.retryable, ran };
  }
}

test.each(reports)('a reply with $name ($source)', async (report) => {
  expect(await seenOf(report)).toEqual(report.seen);
});

test('the error about unclear fragments of a call says so, although the reply has its end', async () => {
  const head = { index: 0, id: 'a', function: { name: 'weather', arguments: '' } };
  const tails = [
    { index: 5, id: 'b', function: { arguments: '{"city":"Rome"}' } },
    { index: 6, id: 'c', function: { arguments: '{"city":"Oslo"}' } },
  ];
  const deltas = [head, ...tails].map((wireCall) => delta({ tool_calls: [wireCall] }));
  const body = deltas.join('') + delta({}, 'tool_calls') + done;
  const model = openai({ model: 'm', apiKey: 'k', fetch: async () => new Response(body) });
  await expect(new ReActAgent({ name: 'a', model }).call('Hi')).rejects.toMatchObject({
    code: 'MODEL_BAD_RESPONSE',
    retryable: true,
    message:
      'Fragments of the tool calls contradict each other, or one is missing: finish reason "tool_calls"',
  });
});
