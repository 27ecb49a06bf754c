import {
  chunk,
  done,
  event,
  openEventStream,
  textEvents,
  usage,
  usageChunk,
  writePieces,
} from './event-stream.ts';
import { sendJson, type ChatRequest, type Exchange } from './exchange.ts';

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: unknown;
}

/** An answer or parallel tool calls. In an answer, the tool results so far replace `{results}`. */
type Step = string | readonly ScriptedCall[];

/**
 * Serves `/scripted/v1` with a model that calls tools. The number of tool results after the last
 * user message selects the step of the script.
 *
 * The field `script` of the body sets the steps. By default, the model makes two tool calls at
 * once, then quotes their results in an answer. It calls the first two tools, or the only tool
 * twice. It makes up arguments that fit the schema.
 */
export async function scripted({ response, body }: Exchange): Promise<void> {
  const model = body.model ?? 'scripted';
  const { answer, calls, offset } = nextStep(body);
  if (body.stream !== true)
    return sendJson(response, 200, completionOf(model, answer, calls, offset));
  openEventStream(response);
  await writePieces(
    response,
    calls.length === 0 ? textEvents(model, words(answer)) : callEvents(model, calls, offset),
  );
  response.end();
}

/**
 * Returns the next step of the conversation. `offset` is the number of tool calls since the last
 * user message that have results.
 */
export function nextStep(body: ChatRequest): {
  readonly answer: string;
  readonly calls: readonly ScriptedCall[];
  readonly offset: number;
} {
  const results = resultsOfTurn(body);
  const step = currentStep(scriptOf(body), results.length);
  const offset = results.length;
  if (typeof step !== 'string') return { answer: '', calls: step, offset };
  return { answer: step.replace('{results}', () => results.join('; ')), calls: [], offset };
}

function scriptOf(body: ChatRequest): readonly Step[] {
  if (Array.isArray(body.script)) return body.script as readonly Step[];
  const [first, second = first] = body.tools ?? [];
  if (!first || !second) return ['There are no tools to call.'];
  return [
    [first, second].map((tool) => ({
      name: tool.function.name,
      arguments: sample(tool.function.parameters),
    })),
    'The tools say: {results}',
  ];
}

function currentStep(script: readonly Step[], resultCount: number): Step {
  let needed = 0;
  for (const step of script) {
    if (typeof step === 'string' || needed >= resultCount) return step;
    needed += step.length;
  }
  return 'The script has ended: {results}';
}

function resultsOfTurn({ messages = [] }: ChatRequest): string[] {
  const start = messages.findLastIndex((message) => message.role === 'user') + 1;
  return messages
    .slice(start)
    .flatMap((message) => (message.role === 'tool' ? [String(message.content)] : []));
}

/** Returns a value that satisfies usual JSON Schemas. */
function sample(schema: unknown): unknown {
  const {
    type,
    properties = {},
    enum: choices,
    items,
    default: preset,
  } = (schema ?? {}) as {
    type?: string;
    properties?: Record<string, unknown>;
    enum?: readonly unknown[];
    items?: unknown;
    default?: unknown;
  };
  if (preset !== undefined) return preset;
  if (choices) return choices[0];
  if (type === 'string') return 'sample';
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [sample(items)];
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, sample(property)]),
  );
}

/**
 * Returns the events of parallel tool calls. All calls begin first, then their arguments are
 * interleaved, as OpenAI may send them.
 */
function callEvents(model: string, calls: readonly ScriptedCall[], offset: number): string[] {
  const opened = calls.map((call, index) => ({
    index,
    id: callId(offset + index),
    type: 'function' as const,
    function: { name: call.name, arguments: '' },
  }));
  const fragments = calls.map((call) => halves(JSON.stringify(call.arguments)));
  const argumentsOf = (half: 0 | 1): string[] =>
    fragments.map((pair, index) =>
      event(chunk(model, { tool_calls: [{ index, function: { arguments: pair[half] } }] })),
    );
  return [
    event(chunk(model, { role: 'assistant', content: null, tool_calls: opened })),
    ...argumentsOf(0),
    ...argumentsOf(1),
    event(chunk(model, {}, 'tool_calls')),
    event(usageChunk(model, 20, 5)),
    done,
  ];
}

function completionOf(
  model: string,
  content: string,
  calls: readonly ScriptedCall[],
  offset: number,
): Record<string, unknown> {
  const toolCalls = calls.map((call, index) => ({
    id: callId(offset + index),
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  const message =
    calls.length > 0
      ? { role: 'assistant', content: null, tool_calls: toolCalls }
      : { role: 'assistant', content };
  return {
    id: 'chatcmpl-provider-server',
    object: 'chat.completion',
    created: 1_770_000_000,
    model,
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    usage: usage(20, 5),
  };
}

export function callId(number: number): string {
  return `call_${number + 1}`;
}

export function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

export function words(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}
