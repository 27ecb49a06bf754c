import type { ConformanceCall, ConformanceReply } from '@isoloop/core/testing';

type Wire = Readonly<Record<string, unknown>>;

/**
 * Returns the events of a reply in a provider's format, or nothing if the format cannot express it.
 */
export type WireFormat = (reply: ConformanceReply) => readonly string[] | undefined;

/** Returns the events of a reply up to the finish reason, which they do not have. */
export function unfinished(
  format: WireFormat,
  reply: Omit<ConformanceReply, 'finish'>,
): readonly string[] {
  const [stopped = [], cut = []] = (['stop', 'length'] as const).map((finish) =>
    format({ ...reply, finish }),
  );
  return stopped.slice(
    0,
    stopped.findIndex((piece, index) => piece !== cut[index]),
  );
}

const event = (data: Wire): string => `data: ${JSON.stringify(data)}\n\n`;

/** Chat completions of OpenAI and of many other servers. */
export const chatCompletions: WireFormat = (reply) => {
  const chunk = (delta: Wire, more: Wire = {}): string =>
    event({ id: 'r', model: 'm', choices: [{ index: 0, delta, finish_reason: null, ...more }] });
  const { usage } = reply;
  return [
    chunk({ role: 'assistant', content: '' }),
    ...chatDeltas(reply).map((delta) => chunk(delta)),
    chunk({}, { finish_reason: chatReasons[reply.finish] }),
    ...(usage ? [event({ id: 'r', model: 'm', choices: [], usage: chatUsage(usage) })] : []),
    'data: [DONE]\n\n',
  ];
};

/** DashScope's own protocol. */
export const dashScopeWire: WireFormat = (reply) => {
  const chunk = (message: Wire, reason = 'null'): string =>
    event({
      output: { choices: [{ message, finish_reason: reason }] },
      usage: dashScopeUsage(reply.usage ?? { inputTokens: 0, outputTokens: 0 }),
      request_id: 'r',
    });
  return [
    ...chatDeltas(reply).map((delta) => chunk(delta)),
    chunk({ role: 'assistant', content: '' }, chatReasons[reply.finish]),
  ];
};

const chatReasons = { stop: 'stop', 'tool-calls': 'tool_calls', length: 'length' } as const;

function chatDeltas({ thinking = [], text = [], toolCalls = [] }: ConformanceReply): Wire[] {
  return [
    ...thinking.map((delta) => ({ reasoning_content: delta })),
    ...text.map((content) => ({ content })),
    ...toolCalls.flatMap(({ id, name, arguments: pieces }, index) => [
      { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
      ...pieces.map((piece) => ({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
  ];
}

type Counts = NonNullable<ConformanceReply['usage']>;

function chatUsage({
  inputTokens,
  outputTokens,
  reasoningTokens,
  cachedInputTokens,
}: Counts): Wire {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  };
}

function dashScopeUsage(usage: Counts): Wire {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}

/** OpenAI's Responses API. */
export const responsesWire: WireFormat = ({ thinking, text, toolCalls = [], finish, usage }) => {
  const items = [
    ...(thinking ? [reasoningItem(thinking)] : []),
    ...(text ? [messageItem(text)] : []),
    ...toolCalls.map(callItem),
  ];
  const isLong = finish === 'length';
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm' };
  const done = {
    ...response,
    status: isLong ? 'incomplete' : 'completed',
    incomplete_details: isLong ? { reason: 'max_output_tokens' } : null,
    output: items.map(({ item }) => item),
    usage: usage ? responsesUsage(usage) : null,
  };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...items.flatMap(({ begun, item, deltas }, index) => [
      { type: 'response.output_item.added', output_index: index, item: begun },
      ...deltas.map((delta) => ({ output_index: index, item_id: item['id'], ...delta })),
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    { type: isLong ? 'response.incomplete' : 'response.completed', response: done },
  ].map((data, number) => event({ ...data, sequence_number: number }));
};

interface StreamedItem {
  readonly begun: Wire;
  readonly item: Wire;
  readonly deltas: readonly Wire[];
}

function reasoningItem(pieces: readonly string[]): StreamedItem {
  const about = { id: 'rs_1', type: 'reasoning' };
  const part = { summary_index: 0, part: { type: 'summary_text', text: '' } };
  return {
    begun: { ...about, summary: [] },
    item: { ...about, summary: [{ type: 'summary_text', text: pieces.join('') }] },
    deltas: [
      { type: 'response.reasoning_summary_part.added', ...part },
      ...pieces.map((delta) => ({
        type: 'response.reasoning_summary_text.delta',
        summary_index: 0,
        delta,
      })),
    ],
  };
}

function messageItem(pieces: readonly string[]): StreamedItem {
  const about = { id: 'msg_1', type: 'message', role: 'assistant' };
  const part = (text: string): Wire => ({ type: 'output_text', text, annotations: [] });
  return {
    begun: { ...about, status: 'in_progress', content: [] },
    item: { ...about, status: 'completed', content: [part(pieces.join(''))] },
    deltas: [
      { type: 'response.content_part.added', content_index: 0, part: part('') },
      ...pieces.map((delta) => ({ type: 'response.output_text.delta', content_index: 0, delta })),
    ],
  };
}

function callItem({ id, name, arguments: pieces }: ConformanceCall): StreamedItem {
  const about = { id: `fc_${id}`, type: 'function_call', call_id: id, name };
  return {
    begun: { ...about, status: 'in_progress', arguments: '' },
    item: { ...about, status: 'completed', arguments: pieces.join('') },
    deltas: pieces.map((delta) => ({ type: 'response.function_call_arguments.delta', delta })),
  };
}

function responsesUsage(usage: Counts): Wire {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    input_tokens_details: { cached_tokens: usage.cachedInputTokens ?? 0 },
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
  };
}

/** Anthropic's messages. Their counts of input tokens exclude what came from the cache. */
export const anthropicWire: WireFormat = ({ thinking, text, toolCalls = [], finish, usage }) => {
  const { inputTokens = 0, outputTokens = 0, cachedInputTokens = 0 } = usage ?? {};
  const blocks = [
    ...(thinking ? [thinkingBlock(thinking)] : []),
    ...(text ? [textBlock(text)] : []),
    ...toolCalls.map(toolUseBlock),
  ];
  const counts = {
    input_tokens: inputTokens - cachedInputTokens,
    output_tokens: 1,
    cache_read_input_tokens: cachedInputTokens,
  };
  const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  const open = { stop_reason: null, stop_sequence: null };
  return [
    { type: 'message_start', message: { ...about, ...open, usage: counts } },
    ...blocks.flatMap(({ content_block, deltas }, index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    {
      type: 'message_delta',
      delta: { stop_reason: anthropicReasons[finish], stop_sequence: null },
      usage: { output_tokens: outputTokens },
    },
    { type: 'message_stop' },
  ].map(event);
};

const anthropicReasons = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens' };

interface StreamedBlock {
  readonly content_block: Wire;
  readonly deltas: readonly Wire[];
}

function thinkingBlock(pieces: readonly string[]): StreamedBlock {
  return {
    content_block: { type: 'thinking', thinking: '', signature: '' },
    deltas: [
      ...pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
      { type: 'signature_delta', signature: 'SIGNED' },
    ],
  };
}

function textBlock(pieces: readonly string[]): StreamedBlock {
  return {
    content_block: { type: 'text', text: '' },
    deltas: pieces.map((text) => ({ type: 'text_delta', text })),
  };
}

function toolUseBlock({ id, name, arguments: pieces }: ConformanceCall): StreamedBlock {
  return {
    content_block: { type: 'tool_use', id, name, input: {} },
    deltas: pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  };
}

/**
 * Google's `streamGenerateContent`. A call arrives in one piece, with its arguments as an object.
 */
export const googleWire: WireFormat = ({ thinking = [], text = [], toolCalls = [], ...end }) => {
  const calls = toolCalls.map(functionCall);
  if (calls.some((call) => call === undefined)) return undefined;
  const parts: readonly Wire[] = [
    ...thinking.map((piece) => ({ text: piece, thought: true })),
    ...text.map((piece) => ({ text: piece })),
    ...(calls as readonly Wire[]),
    { text: '' },
  ];
  const usage: Counts = end.usage ?? { inputTokens: 0, outputTokens: 0 };
  const { inputTokens, outputTokens, reasoningTokens = 0, cachedInputTokens = 0 } = usage;
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    cachedContentTokenCount: cachedInputTokens,
    totalTokenCount: inputTokens + outputTokens,
  };
  const finishReason = end.finish === 'length' ? 'MAX_TOKENS' : 'STOP';
  return parts.map((part, index) =>
    event({
      candidates: [
        {
          index: 0,
          content: { role: 'model', parts: [part] },
          ...(index === parts.length - 1 && { finishReason }),
        },
      ],
      usageMetadata,
    }),
  );
};

function functionCall({ name, arguments: pieces }: ConformanceCall): Wire | undefined {
  try {
    return { functionCall: { name, args: JSON.parse(pieces.join('') || '{}') as unknown } };
  } catch {
    return undefined;
  }
}
