import {
  AgentError,
  assistantMessage,
  InMemoryMemory,
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  toolMessage,
  toolResultsOf,
  userMessage,
  type AgentEvent,
  type AgentHook,
  type AgentOptions,
  type AgentResult,
  type ChatModel,
  type Decision,
  type JsonValue,
  type Memory,
  type ModelDelta,
  type ModelRequest,
  type Msg,
  type Tool,
  type ToolContext,
  type ToolOutput,
} from '@isoloop/core';
import { dashscope, type DashScopeOptions } from '@isoloop/core/dashscope';
import { openai, type OpenAiOptions } from '@isoloop/core/openai';
import type { Fetch } from '@isoloop/core/model';
import { agentscope } from '@isoloop/presets';
import type { LongTermMemory } from '@isoloop/recall';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';

// What AgentScope's document says, checked through the public API alone.

export type Options = Partial<Omit<AgentOptions, 'model'>>;

type Made = Readonly<{ agent: ReActAgent; model: ScriptedModel }>;

interface Remembering extends LongTermMemory {
  readonly queries: string[];
  readonly recorded: (readonly Msg[])[];
}

export interface Wire {
  readonly fetch: Fetch;
  readonly bodies: Record<string, unknown>[];
}

type WireMessage = Readonly<Record<string, unknown>>;

type Execute = (input: unknown, context: ToolContext) => ToolOutput | Promise<ToolOutput>;

/** Returns an agent with the preset, over a model with these replies. */
export function setUp(replies: readonly ScriptedReply[], options: Options = {}): Made {
  const model = new ScriptedModel(replies);
  return { agent: over(model, options), model };
}

/** Returns an agent with the preset over any model. */
export const over = (model: ChatModel, { use = [], ...options }: Options = {}): ReActAgent =>
  new ReActAgent({ name: '助手', ...options, model, use: [agentscope(), ...use] });

export const memories: readonly (readonly [string, () => Memory])[] = [
  ['in memory', () => new InMemoryMemory()],
  ['in a session', () => new SessionMemory(new MemoryStore(), '会话')],
];

/** Returns one reply with these tool calls. */
export function calling(
  ...calls: readonly (readonly [name: string, input?: JsonValue])[]
): ScriptedStep {
  return { toolCalls: calls.map(([name, input = {}]) => ({ name, input })) };
}

/** Creates a tool that records its arguments and answers with a text. */
export function noting(name: string, output = '好'): { ran: unknown[]; tool: Tool } {
  const ran: unknown[] = [];
  const noted = named(name, (input) => {
    ran.push(input);
    return output;
  });
  return { ran, tool: noted };
}

/** Creates a tool whose results come from outside. */
export const external = (name: string): ReturnType<typeof tool> =>
  tool({ name, description: name, input: { type: 'object' } });

/** Returns a result for the only pending tool call. */
export const given = ({ pending }: AgentResult, output: string): readonly Decision[] => [
  { toolUseId: pending[0]?.toolUseId ?? '', type: 'result', output },
];

export const requestOf = (model: ScriptedModel, index: number): ModelRequest => {
  const request = model.requests[index];
  if (!request) throw new Error(`There is no request ${index}.`);
  return request;
};

export const rolesOf = (messages: readonly Msg[]): string[] => messages.map(({ role }) => role);

export const textsOf = (messages: readonly Msg[]): string[] =>
  messages.map((message) => textOf(message));

export const namesOf = ({ tools }: ModelRequest): string[] => tools.map(({ name }) => name);

export function remembering(...texts: readonly string[]): Remembering {
  const queries: string[] = [];
  const recorded: (readonly Msg[])[] = [];
  const nothing = async (): Promise<void> => {};
  return {
    queries,
    recorded,
    retrieve: async (query) => {
      queries.push(query);
      return texts.map((text, index) => ({
        id: `记录${index}`,
        text,
        sessionId: '旧会话',
        createdAt: '2026-01-01T00:00:00.000Z',
      }));
    },
    record: async (messages) => void recorded.push(messages),
    delete: nothing,
    deleteSession: nothing,
    clear: nothing,
  };
}

/** Creates a server that streams these chunks, one list for each request. */
export function wire(...replies: readonly (readonly object[])[]): Wire {
  const bodies: Record<string, unknown>[] = [];
  const fetch: Fetch = async (_url, { body }) => {
    const chunks = replies[bodies.length] ?? [];
    bodies.push(JSON.parse(String(body)) as Record<string, unknown>);
    const lines = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    return new Response(lines.join('') + 'data: [DONE]\n\n', {
      headers: { 'content-type': 'text/event-stream' },
    });
  };
  return { fetch, bodies };
}

export const openAiSays = (delta: object, finish = 'stop'): object[] => [
  { choices: [{ index: 0, delta }] },
  { choices: [{ index: 0, delta: {}, finish_reason: finish }] },
];

export const dashScopeSays = (...messages: readonly object[]): object[] => [
  ...messages.map((message) => ({
    output: { choices: [{ message: { role: 'assistant', ...message }, finish_reason: 'null' }] },
  })),
  { output: { choices: [{ message: { role: 'assistant', content: '' }, finish_reason: 'stop' }] } },
];

export const openAiOn = ({ fetch }: Wire, options: Partial<OpenAiOptions> = {}): ChatModel =>
  openai({ model: 'gpt-5', baseURL: 'https://models.example/v1', fetch, ...options });

export const dashScopeOn = ({ fetch }: Wire, options: Partial<DashScopeOptions> = {}): ChatModel =>
  dashscope({ model: 'qwen-plus', fetch, ...options });

export const sentTo = (server: Wire, index: number): readonly WireMessage[] =>
  server.bodies[index]?.['messages'] as readonly WireMessage[];

export const inputTo = (server: Wire, index: number): readonly WireMessage[] =>
  (server.bodies[index]!['input'] as { messages: readonly WireMessage[] }).messages;

export const parametersTo = (server: Wire, index: number): WireMessage =>
  server.bodies[index]!['parameters'] as WireMessage;

/** A conversation with a thought of the model, a tool call and a result of two outputs. */
export const toolTurn: readonly Msg[] = [
  userMessage('서울 날씨는?', { name: '민수' }),
  assistantMessage(
    [
      { type: 'thinking', thinking: '需要查询天气。' },
      { type: 'tool_use', id: 'c1', name: 'weather', input: { 城市: '서울' } },
    ],
    { name: '助手' },
  ),
  toolMessage({
    type: 'tool_result',
    toolUseId: 'c1',
    name: 'weather',
    output: [
      { type: 'text', text: '맑음' },
      { type: 'text', text: '18도' },
    ],
    state: 'success',
  }),
  assistantMessage('맑고 18도입니다.', { name: '助手' }),
];

/** Creates a tool that takes any arguments. */
export const named = (name: string, execute: Execute = () => `${name} ran`): Tool =>
  tool({ name, description: name, input: { type: 'object' }, execute });

export const asks = (...names: string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name, id: name })),
});

export const finish: ModelDelta = { type: 'finish', reason: 'stop' };

/** Returns the role and the text of each message, or of the results in it. */
export const shown = (messages: readonly Msg[] = []): string[] =>
  messages.map((message) => {
    const results = toolResultsOf(message).map(({ output }) => String(output));
    return `${message.role}: ${[textOf(message), ...results].filter(Boolean).join(', ')}`;
  });

export const documented = new Set<AgentEvent['type']>([
  'pre-call',
  'pre-reasoning',
  'reasoning-chunk',
  'post-reasoning',
  'pre-acting',
  'acting-chunk',
  'post-acting',
  'pre-summary',
  'summary-chunk',
  'post-summary',
  'post-call',
  'error',
]);

/** Returns a hook, and the documented events that it gets. Repeated chunks are one entry. */
export function record(): { types: string[]; hook: AgentHook } {
  const types: string[] = [];
  const hook: AgentHook = { on: { '*': (event) => note(types, event) } };
  return { types, hook };
}

export function note(types: string[], { type }: AgentEvent): void {
  if (documented.has(type) && !(type.endsWith('-chunk') && types.at(-1) === type)) types.push(type);
}

export const failureOf = async (call: Promise<unknown>): Promise<AgentError> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!AgentError.is(error)) throw new Error('The call did not fail with an AgentError.');
  return error;
};
