import { InMemoryMemory, type Msg } from '@isoloop/core';
import { clientTextError, type ClientText } from '@isoloop/core/prompt';
import type { TurnRequest } from '@isoloop/core/host';
import type { Context } from 'hono';
import type { ApiCall } from '../../handler-parts.ts';
import {
  answerEncoder,
  wholeAnswer,
  type OpenAiFormat,
} from '../../completions/completion-answer.ts';
import {
  checkConversation,
  withoutSystem,
  type ParamOf,
} from '../../completions/completion-messages.ts';
import type { EdgeEnv, HandlerSettings } from '../../handler-options.ts';
import { logError } from '../../http/error-response.ts';
import type { RequestBody } from '../../http/request-body.ts';
import { onDisconnect, settleInBackground, waitUntil } from '../../http/request-context.ts';
import { checkApprovals } from '../../session/host/kv-host.ts';
import { askerOf } from '../../session/session-command.ts';
import { sendTurn } from '../../session/host/turn-host.ts';
import { openTurn } from '../../session/live-turn.ts';
import { readIds } from '../../turn/repeated-request.ts';
import { awaitOpening, hasOutput, eventStreamResponse } from '../../turn/event-stream.ts';
import { makeAgent, readEcho, setupOf } from '../../turn/session-setup.ts';

/**
 * Header with the id of a stored session. Without this header, a request to `/v1` contains the
 * whole conversation.
 */
export const sessionHeader = 'x-isoloop-session';

/** Request of a client of OpenAI, whose fields are checked. */
export interface OpenAiRequest {
  readonly model: string;
  readonly call: ApiCall;
  readonly format: OpenAiFormat;
}

export interface WholeConversation {
  readonly postedMessages: readonly Msg[];
  /** Names the field of a posted message, for errors. Default: `messages[…]`. */
  readonly paramOf?: ParamOf;
  /** Id of the agent's session, which is not stored. */
  readonly id: string;
}

export interface StoredTurn {
  readonly sessionId: string;
  readonly turnRequest: TurnRequest;
  /** Fields that `call` was read from. */
  readonly fields: RequestBody;
}

/** Answers a request whose fields are checked. */
export function answer(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  request: OpenAiRequest & (WholeConversation | StoredTurn),
): Promise<Response> {
  const answered =
    'sessionId' in request
      ? answerInSession(c, settings, request)
      : answerOnce(c, settings, request);
  return openTurn(c, settings, request.format, answered);
}

/**
 * Answers a request that contains the whole conversation. The run ends if the client disconnects.
 */
async function answerOnce(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  request: OpenAiRequest & WholeConversation,
): Promise<Response> {
  const { model, postedMessages, call, format } = request;
  const messages =
    settings.systemMessages === 'keep' ? postedMessages : withoutSystem(postedMessages);
  const start = messages.findLastIndex(({ role }) => role === 'assistant' || role === 'tool') + 1;
  const input = start < messages.length ? messages.slice(start) : undefined;
  const history = messages.slice(0, start);
  const memory = new InMemoryMemory(history);
  const clientTexts = history.map((message): ClientText => ({
    message,
    take(guarded) {
      if (!guarded) throw clientTextError();
      return guarded === message ? undefined : memory.replace(guarded);
    },
  }));
  const sessionAgent = await makeAgent(settings, { ...setupOf(c, request.id), memory, model });
  const { agent } = sessionAgent;
  let runEnd: Promise<unknown> | undefined;
  try {
    call.check(agent);
    checkConversation(postedMessages, agent, request.paramOf);
    // Without a Durable Object, no route of this endpoint could accept the approval.
    if (!askerOf(c, request.id)) checkApprovals(agent, settings);
    const controller = new AbortController();
    onDisconnect(c, () => controller.abort());
    const run = agent.stream(input, {
      ...call.options,
      clientTexts: [...clientTexts, ...(call.options.clientTexts ?? [])],
      signal: controller.signal,
    });
    if (!format.stream) return wholeAnswer(await run.result, format);
    const requestId = c.get('requestId');
    const batches = await awaitOpening(run.batches()[Symbol.asyncIterator](), hasOutput);
    // Reads `result` only after the stream has its reader, because otherwise the run would also
    // continue without a reader.
    runEnd = run.result;
    return eventStreamResponse(format, {
      batches,
      encode: answerEncoder(format, call),
      keepAliveMs: settings.limits.keepAliveMs,
      onCancel: () => waitUntil(c, run.cancel()),
      onError: (error) => logError(error, requestId),
    });
  } finally {
    settleInBackground(c, sessionAgent, runEnd);
  }
}

/** Answers a turn of a stored session. The turn continues if the client disconnects. */
async function answerInSession(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  { model, call, format, sessionId, turnRequest, fields }: OpenAiRequest & StoredTurn,
): Promise<Response> {
  const setup = setupOf(c, sessionId);
  const messageId = crypto.randomUUID();
  const turn = { request: turnRequest, model, messageId, fields, ...readIds(c) };
  // Checks the client's tools before the request reaches the Durable Object, so that a refused turn
  // creates no session.
  if (fields['tools'] != null && askerOf(c, sessionId)) {
    const sessionAgent = await makeAgent(settings, {
      ...setup,
      model,
      memory: new InMemoryMemory(),
    });
    settleInBackground(c, sessionAgent);
    call.check(sessionAgent.agent);
  }
  return sendTurn(c, settings, setup, {
    turn,
    format,
    call,
    echoSetup: readEcho(c),
  });
}
