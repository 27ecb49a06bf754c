import { dashScopeFaults } from './dashscope-faults.ts';
import { refusalOf } from '../sent-requests/note.ts';
import {
  dashScopeChunk,
  dashScopeEvents,
  sendDashScopeError,
  type DashScopeRequest,
  type Piece,
  type Service,
} from './dashscope-wire.ts';
import { openEventStream, writePieces } from './event-stream.ts';
import { sendJson, type ChatRequest, type Exchange } from './exchange.ts';
import { callId, halves, nextStep, words } from './scripted.ts';

/**
 * Serves `/dashscope/NAME/api/v1` with DashScope's native protocol, as its documentation describes
 * it.
 */
export async function dashScope(exchange: Exchange): Promise<void> {
  const { request, response, parameters } = exchange;
  const name = parameters[0] ?? '';
  const body = exchange.body as DashScopeRequest;
  const service = serviceOf(request.url ?? '');
  if (!service)
    return sendDashScopeError(response, 404, 'InvalidURL', 'Invalid URL provided in your request.');
  const problem = refusalOf({ url: request.url ?? '', body });
  if (problem !== undefined) return sendDashScopeError(response, 400, 'InvalidParameter', problem);

  const fault = Object.hasOwn(dashScopeFaults, name) ? dashScopeFaults[name] : undefined;
  if (fault) return fault({ ...exchange, service });
  if (name !== 'scripted' && name !== 'echo')
    return sendDashScopeError(response, 404, 'InvalidURL', `Nothing at ${name}.`);
  const { pieces, reason } = name === 'echo' ? echoReply(exchange) : scriptedReply(body);
  if (request.headers['x-dashscope-sse'] !== 'enable') {
    const text = pieces.map((piece) => piece.text ?? '').join('');
    return sendJson(response, 200, dashScopeChunk(service, { text }, reason, 1));
  }
  openEventStream(response);
  await writePieces(response, dashScopeEvents(service, pieces, reason));
  response.end();
}

interface Reply {
  readonly pieces: readonly Piece[];
  readonly reason: string;
}

function serviceOf(url: string): Service | undefined {
  return /\/services\/aigc\/(text|multimodal)-generation\/generation$/.exec(url)?.[1] as
    | Service
    | undefined;
}

/** Returns a reply whose text is the request as JSON: `{ path, headers, body }`. */
function echoReply({ request, body }: Exchange): Reply {
  return {
    pieces: [{ text: JSON.stringify({ path: request.url, headers: request.headers, body }) }],
    reason: 'stop',
  };
}

function scriptedReply({ input, parameters = {} }: DashScopeRequest): Reply {
  const messages = (input?.messages ?? []).map((message) => ({
    ...message,
    content: plain(message.content),
  }));
  const { answer, calls, offset } = nextStep({
    messages,
    ...pick(parameters, 'tools'),
    ...pick(parameters, 'script'),
  } as ChatRequest);
  const thoughts =
    parameters['enable_thinking'] === true ? [{ thinking: 'Let me ' }, { thinking: 'think.' }] : [];
  if (calls.length === 0)
    return { pieces: [...thoughts, ...words(answer).map((text) => ({ text }))], reason: 'stop' };
  // Only the first fragment of a tool call has its id. Later fragments have an empty id.
  const fragments = calls.flatMap(({ name, arguments: given }, index): Piece[] => {
    const [head, tail] = halves(JSON.stringify(given));
    const call = (id: string, fragment: object): Piece => ({
      calls: [{ index, id, type: 'function', function: fragment }],
    });
    return [call(callId(offset + index), { name, arguments: head }), call('', { arguments: tail })];
  });
  return { pieces: [...thoughts, ...fragments], reason: 'tool_calls' };
}

function plain(content: unknown): string {
  if (!Array.isArray(content)) return String(content);
  return content.map((part: { readonly text?: string }) => part.text ?? '').join('');
}

function pick(from: Readonly<Record<string, unknown>>, key: string): Record<string, unknown> {
  return key in from ? { [key]: from[key] } : {};
}
