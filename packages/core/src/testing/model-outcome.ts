import { AgentError } from '../error/agent-error.ts';
import type { ContentBlock, Msg } from '../message/msg.ts';
import type { ChatModel, ModelDelta, ModelRequest, Usage } from '../model/chat-model.ts';
import { ReplyAssembler } from '../model/reply/reply-assembler.ts';

/** A reply that the model under test has to give: first thinking, then text, then tool calls. */
export interface ConformanceReply {
  /** Pieces of the thinking. Each is a delta of its own. */
  readonly thinking?: readonly string[];
  /** Pieces of the text. Each is a delta of its own. */
  readonly text?: readonly string[];
  readonly toolCalls?: readonly ConformanceCall[];
  /** Why the reply ends. The finish reason on the wire is the provider's term for it. */
  readonly finish: 'stop' | 'tool-calls' | 'length';
  /** Token counts that the provider reports. Default: it reports none. */
  readonly usage?: Usage;
}

/** A tool call in a reply that the model under test has to give. */
export interface ConformanceCall {
  readonly id: string;
  readonly name: string;
  /** Pieces of the arguments' JSON text. The text may be empty, or not be JSON. */
  readonly arguments: readonly string[];
}

export const text: ConformanceReply = {
  text: ['It is', ' 18 °C in 東京 😀.', '\n"Mild" \\ for Nov.'],
  finish: 'stop',
  usage: { inputTokens: 12, outputTokens: 7 },
};
export const tools: ConformanceReply = {
  text: ['I look.'],
  toolCalls: [
    { id: 'call_a', name: 'weather', arguments: ['{"city":', '"東京 😀","days"', ':[1,2]}'] },
    { id: 'call_b', name: 'clock', arguments: ['{}'] },
    { id: 'call_c', name: 'weather', arguments: ['{"city":"Oslo"}'] },
  ],
  finish: 'tool-calls',
};
export const replies: Readonly<Record<string, ConformanceReply>> = {
  text,
  thinking: { thinking: ['Let me', ' think.'], text: ['Yes.'], finish: 'stop' },
  tools,
};

/** What a reader got from a model. */
export interface ModelOutcome {
  readonly deltas: readonly ModelDelta[];
  readonly reads: number;
  readonly error: AgentError | undefined;
}

interface Reading {
  /** Default: a conversation with two tools. */
  readonly request?: ModelRequest;
  readonly signal?: AbortSignal;
  /** Number of reads after which the reader leaves. */
  readonly leaveAfter?: number;
  /** Number of reads after which the reader aborts the request. */
  readonly abortAfter?: number;
}

/** Reads a reply of the model, as far as it goes. */
export async function outcomeOf(model: ChatModel, reading: Reading = {}): Promise<ModelOutcome> {
  const controller = new AbortController();
  const { signal = controller.signal, leaveAfter, abortAfter } = reading;
  const sent = reading.request ?? request;
  const deltas: ModelDelta[] = [];
  let reads = 0;
  let error: AgentError | undefined;
  try {
    for await (const read of model.stream(sent, { signal })) {
      deltas.push(...read);
      reads += 1;
      if (reads === leaveAfter) break;
      if (reads === abortAfter) controller.abort();
    }
  } catch (thrown) {
    error = AgentError.from(thrown);
  }
  return { deltas, reads, error };
}

export function finishOf({
  deltas,
}: ModelOutcome): Partial<Extract<ModelDelta, { type: 'finish' }>> {
  return deltas.find((delta) => delta.type === 'finish') ?? {};
}

/** Returns the blocks of a reply, without what only the provider needs. */
export function contentOf(deltas: readonly ModelDelta[]): readonly unknown[] {
  let calls = 0;
  const reply = new ReplyAssembler({
    messageId: 'reply',
    toolUseId: (id) => id ?? `unnamed_${(calls += 1)}`,
  });
  for (const delta of deltas) reply.add(delta);
  return reply.content({ partial: false }).flatMap(comparableParts);
}

function comparableParts(block: ContentBlock): readonly unknown[] {
  switch (block.type) {
    case 'text':
      return block.text ? [{ type: 'text', text: block.text }] : [];
    case 'thinking':
      return block.thinking ? [{ type: 'thinking', thinking: block.thinking }] : [];
    case 'tool_use':
      return [{ type: 'tool_use', name: block.name, input: block.input }];
    default:
      return [block];
  }
}

export function expectedOf(reply: ConformanceReply): readonly unknown[] {
  const { thinking, text: words, toolCalls = [] } = reply;
  return [
    ...(thinking ? [{ type: 'thinking', thinking: thinking.join('') }] : []),
    ...(words ? [{ type: 'text', text: words.join('') }] : []),
    ...toolCalls.map((call) => ({
      type: 'tool_use',
      name: call.name,
      input: JSON.parse(call.arguments.join('') || '{}') as unknown,
    })),
  ];
}

export function callWith(args: string): ConformanceReply {
  const call = { id: 'call_a', name: 'clock', arguments: args ? [args] : [] };
  return { toolCalls: [call], finish: 'tool-calls' };
}

export const request: ModelRequest = {
  messages: [
    historyMessage('system', { type: 'text', text: 'Answer in one sentence.' }),
    historyMessage('user', { type: 'text', text: 'How warm is it?' }),
    historyMessage(
      'assistant',
      { type: 'text', text: 'I ask the tool.' },
      { type: 'tool_use', id: 'call_0', name: 'weather', input: { city: 'Oslo' } },
    ),
    historyMessage('tool', {
      type: 'tool_result',
      toolUseId: 'call_0',
      name: 'weather',
      output: 'seven degrees',
      state: 'success',
    }),
    historyMessage('user', { type: 'text', text: 'And in Japan?' }),
  ],
  tools: [
    {
      name: 'weather',
      description: 'Current weather of a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
    },
    {
      name: 'clock',
      description: 'Tells the time',
      parameters: { type: 'object', properties: {} },
    },
  ],
};

function historyMessage(role: Msg['role'], ...content: readonly ContentBlock[]): Msg {
  return { id: `message of the ${role}`, role, content, createdAt: '2026-01-01T00:00:00.000Z' };
}

/** Texts of the request that every format sends as they are. */
export const mustBeSent: readonly string[] = [
  ...JSON.stringify(request).matchAll(/"(?:text|city|output|description)":"([^"]+)"/g),
].map(([, sent]) => sent!);
