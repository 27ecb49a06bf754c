import { event, openEventStream, writePieces } from './event-stream.ts';
import { sendJson, type ChatRequest, type Exchange } from './exchange.ts';
import { callId, halves, nextStep, words, type ScriptedCall } from './scripted.ts';

type Item = Readonly<Record<string, unknown>>;

/** The parts of a request to the Responses API that the server reads. */
interface ResponsesRequest {
  readonly model?: string;
  readonly stream?: boolean;
  readonly input?: string | readonly Item[];
  readonly tools?: readonly Item[];
  readonly script?: unknown;
}

/**
 * Serves `/scripted/v1/responses` with the model of `scripted()` and the events of the Responses
 * API.
 */
export async function scriptedResponses({ response, body }: Exchange): Promise<void> {
  const request = body as ResponsesRequest;
  const { answer, calls, offset } = nextStep(toChatRequest(request));
  const items = calls.length
    ? calls.map((call, index) => callItem(call, offset + index))
    : [messageItem(answer)];
  const finished = {
    id: 'resp_provider_server',
    object: 'response',
    created_at: 1_770_000_000,
    model: request.model ?? 'scripted',
    status: 'completed',
    output: items,
    usage: usage(calls.length ? 20 : 10, calls.length ? 5 : words(answer).length),
  };
  if (request.stream !== true) return sendJson(response, 200, finished);
  openEventStream(response);
  const begun = { ...finished, status: 'in_progress', output: [], usage: null };
  await writePieces(response, [
    event({ type: 'response.created', response: begun }),
    ...items.flatMap((item, index) => itemEvents(item, index)),
    event({ type: 'response.completed', response: finished }),
  ]);
  response.end();
}

function toChatRequest({ input = [], tools = [], script }: ResponsesRequest): ChatRequest {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
  return {
    script,
    messages: items.map((item) =>
      item['type'] === 'function_call_output'
        ? { role: 'tool', content: item['output'] }
        : { role: String(item['role'] ?? 'assistant'), content: item['content'] },
    ),
    tools: tools.map(({ name, parameters }) => ({ function: { name: String(name), parameters } })),
  };
}

function messageItem(text: string): Item {
  return {
    id: 'msg_provider_server',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

function callItem({ name, arguments: given }: ScriptedCall, number: number): Item {
  return {
    id: `fc_${number + 1}`,
    type: 'function_call',
    status: 'completed',
    call_id: callId(number),
    name,
    arguments: JSON.stringify(given),
  };
}

function itemEvents(item: Item, index: number): readonly string[] {
  const place = { output_index: index, item_id: item['id'] };
  const isCall = item['type'] === 'function_call';
  const begun = {
    ...item,
    status: 'in_progress',
    ...(isCall ? { arguments: '' } : { content: [] }),
  };
  const pieces = isCall ? halves(String(item['arguments'])) : words(textOf(item));
  const type = isCall ? 'response.function_call_arguments.delta' : 'response.output_text.delta';
  const part = { type: 'output_text', text: '', annotations: [] };
  const partAdded = { type: 'response.content_part.added', ...place, content_index: 0, part };
  return [
    event({ type: 'response.output_item.added', output_index: index, item: begun }),
    ...(isCall ? [] : [event(partAdded)]),
    ...pieces.map((delta) => event({ type, ...place, content_index: 0, delta })),
    event({ type: 'response.output_item.done', output_index: index, item }),
  ];
}

function textOf(item: Item): string {
  const [part] = item['content'] as readonly { readonly text: string }[];
  return part!.text;
}

function usage(input: number, output: number): Item {
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
  };
}
