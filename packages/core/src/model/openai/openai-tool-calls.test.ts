import { expect, test } from 'vitest';
import { withOrigin } from '../../message/provider-metadata.ts';
import type { ModelDelta } from '../chat-model.ts';
import { joined } from '@test/support/model-outcome.ts';
import { StreamedToolCalls, type WireToolCall } from './openai-tool-calls.ts';

interface Decoded {
  /** Names and arguments of the calls, or `refused` if the reply is incomplete. */
  readonly calls: readonly string[] | 'refused';
  readonly deltas: readonly ModelDelta[];
}

/** Decodes fragments as a server sends them before the finish reason `tool_calls`. */
function decode(fragments: readonly unknown[]): Decoded {
  const calls = new StreamedToolCalls('models.test');
  const deltas: ModelDelta[] = [];
  for (const fragment of fragments) calls.add(fragment as WireToolCall, deltas);
  calls.emit(deltas, true);
  const lines = joined(deltas).calls.map(({ id, name, input }) => `${id} ${name} ${input}`.trim());
  if (!calls.areComplete(true)) return { calls: 'refused', deltas };
  expect(calls.waitingLength).toBe(0);
  return { calls: lines, deltas };
}

/** A fragment. `undefined` leaves a field out. */
const part = (index?: number | null, id?: string, name?: string, args?: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});

const rome = '{"city":"Rome"}';
const oslo = '{"city":"Oslo"}';

test.for<readonly [string, readonly unknown[], readonly string[] | 'refused']>([
  ['without an index', [part(0, 'c', 'f', '{'), { function: { arguments: '}' } }], ['c f {}']],
  ['without a function', [{ index: 0, id: 'c' }, part(0, undefined, 'f', '{}')], ['c f {}']],
  [
    'of the same name, while the first call is incomplete',
    [part(null, undefined, 'f', '{"a"'), part(null, undefined, 'f', ':1}')],
    ['f {"a":1}'],
  ],
  [
    'of the same name, when the first call is complete',
    [part(null, undefined, 'f', '{}'), part(null, undefined, 'f', '{}')],
    ['f {}', 'f {}'],
  ],
  ['without content', [{ index: 0 }, { index: 1, function: {} }], []],
  // LM Studio: https://github.com/NousResearch/hermes-agent/pull/106943
  // GLM: https://github.com/0xPlaygrounds/rig/pull/1510
  [
    'with a new id each',
    [part(0, 't1', 'w', ''), part(0, 't2', '', '{"city":'), part(0, 't3', undefined, '"Rome"}')],
    [`t1 w ${rome}`],
  ],
  // Poolside: https://github.com/poolsideai/pool/issues/9
  [
    'whose tails have another id than the head',
    [
      part(0, 'a', 'w', ''),
      part(0, 'b', '', '{"city":'),
      part(0, 'b', '', '"Rome"}'),
      part(1, 'c', 'w', ''),
      part(1, 'd', '', '{"city":'),
      part(1, 'd', '', '"Oslo"}'),
    ],
    [`a w ${rome}`, `c w ${oslo}`],
  ],
  [
    'with a new id and the name each, after the start of the arguments',
    [part(0, 't1', 'w', '{"city"'), part(0, 't2', 'w', ':"Rome"}')],
    [`t1 w ${rome}`],
  ],
  // SGLang: https://github.com/sgl-project/sglang/pull/6645
  [
    'of a second call whose head has index 0 and whose tail has index 1',
    [part(0, 'a', 'w', rome), part(0, 'b', 'w', ''), part(1, undefined, undefined, oslo)],
    [`a w ${rome}`, `b w ${oslo}`],
  ],
  [
    'whose heads have the index of the tool, and the tails the index of the call',
    [
      part(1, 'a', 'v', ''),
      part(0, undefined, '', rome),
      part(0, 'b', 'w', ''),
      part(1, undefined, '', oslo),
    ],
    [`a v ${rome}`, `b w ${oslo}`],
  ],
  [
    'with one id at several indexes',
    [part(0, 'a', 'w', '{"city":'), part(1, 'a', 'w', '"Ro'), part(2, 'a', '', 'me"}')],
    [`a w ${rome}`],
  ],
  [
    'that repeat a whole call at several indexes',
    [part(0, 'a', 'w', rome), part(1, 'a', 'w', rome), part(2, 'a', 'w', rome)],
    [`a w ${rome}`],
  ],
  [
    'that repeat the head of a call at other indexes',
    [part(0, 'a', 'w', rome), part(1, 'a', 'w', ''), part(2, 'a', 'w', '')],
    [`a w ${rome}`],
  ],
  // DeepSeek and GLM: https://github.com/HKUDS/nanobot/pull/3943
  [
    'of two calls with the same id',
    [
      part(0, 'a', 'w', ''),
      part(0, undefined, undefined, rome),
      part(1, 'a', 'w', ''),
      part(1, undefined, undefined, oslo),
      part(1, 'a', 'v', '{}'),
    ],
    [`a w ${rome}`, `a w ${oslo}`, 'a v {}'],
  ],
  // Gemini: https://github.com/continuedev/continue/pull/5849
  [
    'with a name in two parts',
    [part(0, 'a', 'wea', ''), part(0, undefined, 'ther', ''), part(0, undefined, undefined, rome)],
    [`a weather ${rome}`],
  ],
  [
    'with a name in two parts, the same id, and the arguments beside the second part',
    [part(0, 'a', 'wea', ''), part(0, 'a', 'ther', rome), part(1, 'b', 'w', '{}')],
    [`a weather ${rome}`, 'b w {}'],
  ],
  // Fireworks: https://github.com/SillyTavern/SillyTavern/pull/5948
  [
    'that repeat id and name',
    [part(0, 'a', 'w', ''), part(0, 'a', 'w', rome), part(0, 'a', 'w', '')],
    [`a w ${rome}`],
  ],
  // MiniMax at NVIDIA: https://github.com/NousResearch/hermes-agent/pull/11984
  [
    'that repeat the name',
    [part(0, 'a', 'w', '{"city":'), part(0, '', 'w', '"Rome"}'), part(0, '', 'w', '')],
    [`a w ${rome}`],
  ],
  // GLM at DashScope: https://github.com/anomalyco/opencode/issues/37841
  [
    'with empty ids and names',
    [part(0, 'a', 'w', ''), part(0, '', '', '{"city":'), part(0, '', '', '"Rome"}')],
    [`a w ${rome}`],
  ],
  // Ollama: https://github.com/ollama/ollama/issues/15457
  [
    'of whole calls with the same index',
    [part(0, 'a', 'w', rome), part(0, 'b', 'w', rome), part(0, 'c', 'v', oslo)],
    [`a w ${rome}`, `b w ${rome}`, `c v ${oslo}`],
  ],
  // OpenRouter: https://github.com/skye-harris/hass_local_openai_llm/pull/92
  [
    'of whole calls with the same index and id',
    [part(0, 'a', 'w', rome), part(0, 'a', 'w', oslo), part(0, 'a', 'v', rome)],
    [`a w ${rome}`, `a w ${oslo}`, `a v ${rome}`],
  ],
  // https://github.com/lidge-jun/opencodex/issues/361
  [
    'that end with the whole arguments once more',
    [part(0, 'a', 'w', ''), part(0, undefined, undefined, rome), part(0, 'a', undefined, rome)],
    [`a w ${rome}`],
  ],
  // vmlx: https://github.com/jjang-ai/vmlx/pull/244
  [
    'with the name after the id',
    [part(0, 'a', '', ''), part(0, 'a', 'w', rome), part(1, 'b', '', ''), part(1, '', 'w', oslo)],
    [`a w ${rome}`, `b w ${oslo}`],
  ],
  [
    'with the name after the arguments',
    [part(0, 'a', '', '{"city":'), part(0, '', '', '"Rome"}'), part(0, '', 'w', '')],
    [`a w ${rome}`],
  ],
  [
    'with arguments that are objects',
    [part(0, 'a', 'w', { city: 'Rome' }), part(0, 'b', 'w', { city: 'Oslo' })],
    [`a w ${rome}`, `b w ${oslo}`],
  ],
  [
    'of two calls, with braces, quotes and escapes in the texts',
    [
      part(0, 'a', 'w', '{"a":"}\\"{'),
      part(0, '', '', '\\'),
      part(0, '', '', '\\}"}'),
      part(0, 'b', 'w', '{"a":["[",{}]}'),
    ],
    ['a w {"a":"}\\"{\\\\}"}', 'b w {"a":["[",{}]}'],
  ],
  [
    'of calls without arguments',
    [part(1, 'a', 'f', ''), part(2, 'b', 'g', ''), part(2, undefined, undefined, '{}')],
    ['a f', 'b g {}'],
  ],
  [
    'with a brace too many, which the model wrote,',
    [part(0, 'a', 'w', '{"city":'), part(0, '', '', '"Rome"}'), part(0, '', '', '}')],
    [`a w ${rome}}`],
  ],
  // https://github.com/NousResearch/hermes-agent/pull/35718
  [
    'that repeat the arguments so far',
    [
      part(0, 'a', 'w', ''),
      part(0, '', '', '{"ci'),
      part(0, '', '', '{"city":'),
      part(0, '', '', rome),
      part(0, '', '', rome),
      part(1, 'b', 'w', '{'),
      part(1, 'b', 'w', '{"city":"Os'),
      part(1, 'b', 'w', oslo),
    ],
    [`a w ${rome}`, `b w ${oslo}`],
  ],
  // llama.cpp: https://github.com/openclaw/openclaw/pull/89070
  [
    'that repeat the arguments so far, with an object in them',
    [
      part(0, 'a', 'w', '{"job":{"na'),
      part(0, '', '', '{"job":{"name":"x"'),
      part(0, '', '', '{"job":{"name":"x"}}'),
    ],
    ['a w {"job":{"name":"x"}}'],
  ],
  [
    'with an inner object that begins like the arguments',
    [part(0, 'a', 'w', '{"a":'), part(0, '', '', '{"a":1}'), part(0, '', '', '}')],
    ['a w {"a":{"a":1}}'],
  ],
  [
    'that may repeat the arguments so far or begin an inner object',
    [part(0, 'a', 'w', '{"a":'), part(0, '', '', '{"a":1}')],
    'refused',
  ],
  // LiteLLM: https://github.com/BerriAI/litellm/issues/4537
  [
    'with empty arguments first',
    [
      part(0, 'a', 'w', {}),
      part(0, '', '', ''),
      part(0, '', '', '{'),
      part(0, '', '', '"city":"Rome"}'),
      part(1, 'b', 'w', '{}'),
      part(1, 'b', '', oslo),
      part(2, 'c', 'f', '{}'),
    ],
    [`a w ${rome}`, `b w ${oslo}`, 'c f {}'],
  ],
  [
    'of two calls with the same id, of which the first has empty arguments',
    [
      part(0, 'a', '', '{}'),
      part(0, '', 'w', ''),
      part(1, 'a', '', rome.slice(0, 5)),
      part(1, '', 'w', rome.slice(5)),
    ],
    ['a w {}', `a w ${rome}`],
  ],
  [
    'with empty arguments, and with others at a place of their own',
    [part(0, 'a', 'w', '{}'), part(1, '', '', rome)],
    'refused',
  ],
  // A call without a name: https://github.com/strands-agents/harness-sdk/issues/271
  ['without any name', [part(0, 'a', '', rome)], 'refused'],
  [
    'without a name, after a whole call',
    [part(0, 'a', 'w', rome), part(0, '', '', oslo)],
    'refused',
  ],
  [
    'of two open calls, with an unknown index',
    [part(0, 'a', 'f', ''), part(1, 'b', 'g', ''), part(2, undefined, undefined, rome)],
    'refused',
  ],
  [
    'of which the second may be another call or the arguments of the first',
    [part(0, 't1', 'w', ''), part(0, 't2', 'w', rome)],
    'refused',
  ],
  [
    'of which the second has another index and no id, while the first has no arguments',
    [part(0, 'a', 'w', ''), part(1, '', 'w', rome)],
    'refused',
  ],
  [
    'of another name, while the first call is incomplete',
    [part(null, undefined, 'f', '{"a"'), part(null, undefined, 'g', '{}')],
    'refused',
  ],
  [
    'of two calls that a server mixes under new ids',
    [part(0, 't1', 'w', '{"a"'), part(0, 't2', 'w', '{"b"'), part(0, 't3', '', ':1}')],
    'refused',
  ],
])('fragments %s give the calls that the model made', ([, fragments, expected]) => {
  expect(decode(fragments).calls).toEqual(expected);
});

test('id and name are reported once, and other provider data is passed on, even alone', () => {
  const extra_content = { google: { thought_signature: 's' } };
  const { deltas } = decode([
    part(0, 'c', 'f', '{'),
    part(0, 'c', 'f', '}'),
    { index: 0, extra_content },
  ]);
  expect(deltas).toEqual([
    { type: 'tool-input', index: 0, id: 'c', name: 'f', delta: '{' },
    { type: 'tool-input', index: 0, delta: '}' },
    {
      type: 'tool-input',
      index: 0,
      providerMetadata: withOrigin('models.test', { extra_content }),
      delta: '',
    },
  ]);
});

test('calls are emitted in the order in which they began, although a name comes late', () => {
  const { deltas } = decode([
    part(0, 'a', '', rome),
    part(1, 'b', 'g', '{}'),
    part(0, '', 'f', ''),
    part(2, 'c', 'h', ''),
  ]);
  expect(deltas).toEqual([
    { type: 'tool-input', index: 0, id: 'a', name: 'f', delta: rome },
    { type: 'tool-input', index: 1, id: 'b', name: 'g', delta: '{}' },
    { type: 'tool-input', index: 2, id: 'c', name: 'h', delta: '' },
  ]);
});

test('many calls, and many fragments of one call, take linear time', () => {
  const many = 20_000;
  const indexes = Array.from({ length: many }, (_unused, index) => index);
  expect(decode(indexes.map((index) => part(index, `${index}`, 'f', '{}'))).calls).toHaveLength(
    many,
  );
  const nested = [
    part(0, 'a', 'f', '['),
    ...indexes.map(() => part(0, '', '', '{},')),
    part(0, '', '', '0]'),
  ];
  expect(decode(nested).calls).toHaveLength(1);
});
