import { AgentError, type Msg } from '@isoloop/core';
import { fieldError } from '@isoloop/core/host';
import { fromResponsesInput, itemNames } from '../wire/responses/responses-messages.ts';
import type { Context } from 'hono';
import { checkPosted, readTail } from '../request/completion-messages.ts';
import { checkResponseFields, repeatedFields } from '../request/request-fields.ts';
import type { EdgeEnv, EdgeLimits } from '@isoloop/edge';
import {
  answerTurn,
  checkSessionId,
  type HandlerSettings,
  type RequestBody,
} from '@isoloop/edge/api';
import { readResponseId, responseId, type SessionPoint } from './response-id.ts';
import { answerWhole, sessionHeader } from './openai-answer.ts';
import type { OpenAiSettings } from '../request/openai-options.ts';
import { readRequest } from './openai-request.ts';

/**
 * Handles `POST /v1/responses`: offers the agent as a model of OpenAI's Responses API.
 *
 * - By default, the request is stateless: `input` is the whole history. The run ends if the client
 *   disconnects.
 * - With `store: true`, the request begins a session, and a later request continues it with
 *   `previous_response_id`. The header `x-isoloop-session` names a session, as for chat
 *   completions. Only the items after the last item of the assistant are used.
 *
 * The agent's own tools run on the server, and the answer does not show them. Calls of the client's
 * tools end the run and are returned as `function_call` items.
 */
export async function responsesRoute(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  openAi: OpenAiSettings,
): Promise<Response> {
  const { limits } = settings;
  const request = await readRequest(c, settings, openAi, 'responses');
  const { body, stream, answerSettings } = request;
  checkResponseFields(body);
  const session = readSession(body, c.req.header(sessionHeader));
  const postedMessages = readInput(body, limits, session !== undefined);
  const formatOf = (id: string) =>
    ({
      kind: 'response',
      stream,
      response: {
        ...answerSettings,
        id,
        request: { ...repeatedFields(body, request.ignoredFields), store: session !== undefined },
      },
    }) as const;
  if (!session) {
    const id = `resp_${crypto.randomUUID()}`;
    const paramOf = itemNames(body['input']);
    return answerWhole(c, settings, {
      ...request,
      format: formatOf(id),
      postedMessages,
      paramOf,
      id,
    });
  }
  const { sessionId, afterInputId } = session;
  const turnRequest = {
    ...readTurnRequest(body, postedMessages),
    ...(afterInputId !== undefined && { afterInputId }),
  };
  const format = formatOf(responseId(sessionId, turnRequest));
  return answerTurn(c, settings, { ...request, format, sessionId, turnRequest });
}

/** Handles the routes of stored responses, which this endpoint does not offer. */
export function noStoredResponse(c: Context<EdgeEnv>): never {
  throw new AgentError(
    'NOT_FOUND',
    `There is no ${c.req.method} ${c.req.path} here. A stored response can only be continued, with \`previous_response_id\`.`,
  );
}

/** Returns the session of a request, or `undefined` for a request without one. */
function readSession(body: RequestBody, header: string | undefined): SessionPoint | undefined {
  const { previous_response_id: previous, store } = body;
  const headerSession = header === undefined ? undefined : { sessionId: checkSessionId(header) };
  const session = typeof previous === 'string' ? readResponseId(previous) : headerSession;
  if (!session) return store === true ? { sessionId: crypto.randomUUID() } : undefined;
  if (store === false) throw fieldError('store', 'cannot be false: the session is stored');
  if (headerSession && headerSession.sessionId !== session.sessionId)
    throw fieldError('previous_response_id', 'is a response of another session');
  return session;
}

/**
 * Converts `input`. In a session, reads only the items after the last item of the
 * assistant, because the server has the others.
 */
function readInput(
  { input }: RequestBody,
  limits: EdgeLimits,
  isInSession: boolean,
): readonly Msg[] {
  if (Array.isArray(input) && input.length > limits.messages)
    throw new AgentError('PAYLOAD_TOO_LARGE', `The input has more than ${limits.messages} items.`, {
      details: { param: 'input' },
    });
  const items = isInSession ? newItems(input) : input;
  const messages = fromResponsesInput(items);
  checkPosted(messages, limits, itemNames(items));
  return messages;
}

/** Replaces the items up to the last one of the assistant by items that are skipped. */
function newItems(input: unknown): unknown {
  if (!Array.isArray(input)) return input;
  const start = input.findLastIndex((item) => !isOfClient(item)) + 1;
  if (start && start === input.length)
    throw fieldError('input', 'has nothing new after the last item of the assistant');
  return start ? withoutFirst(input, start) : input;
}

/** Returns the request for a turn with the new messages. */
function readTurnRequest(
  { input }: RequestBody,
  postedMessages: readonly Msg[],
): ReturnType<typeof readTail> {
  const paramOf = itemNames(newItems(input));
  const request = readTail(postedMessages, { list: 'input', paramOf });
  const otherIndex = postedMessages.findIndex(({ role }) => role !== 'tool');
  if (request.kind === 'decide' && otherIndex >= 0)
    throw fieldError(paramOf(otherIndex), 'cannot be beside tool results: use `instructions`');
  return request;
}

/**
 * Replaces the first items by items that are skipped, so that errors name the others by their
 * index.
 */
function withoutFirst(input: unknown, count: number): readonly unknown[] {
  const skipped = Array.from({ length: count }, () => ({ type: 'reasoning' }));
  return [...skipped, ...(input as readonly unknown[]).slice(count)];
}

/** Returns whether an item is a message or a tool result of the client. */
function isOfClient(item: unknown): boolean {
  const { type = 'message', role } = Object(item) as RequestBody;
  return type === 'function_call_output' || (type === 'message' && role !== 'assistant');
}
