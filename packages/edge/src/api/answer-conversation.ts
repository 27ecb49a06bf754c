import { InMemoryMemory, type AgentResult, type Msg, type ReActAgent } from '@isoloop/core';
import { clientTextError, type ClientText } from '@isoloop/core/host';
import type { Context } from 'hono';
import { logError } from '../http/error-response.ts';
import { onDisconnect, closeInBackground, waitUntil } from '../http/request-context.ts';
import { checkApprovals } from '../session/answer-in-request.ts';
import type { EdgeEnv, HandlerSettings } from '../settings/handler-options.ts';
import { objectsOf } from '../settings/session-home.ts';
import type { ApiCall, ApiFormat } from '../settings/openai-part.ts';
import type { EncodeBatch } from '../settings/turn-format.ts';
import { awaitOpening, eventStreamResponse, hasOutput } from '../answer/event-stream.ts';
import { openTurn } from '../answer/live-response.ts';
import { makeAgent, setupOf } from '../session/setup.ts';
import { withoutSystem } from './without-system.ts';

/** A request that contains the whole conversation, and how its client gets the answer. */
export interface PostedConversation {
  /** Id of the agent's session, which is not stored. */
  readonly id: string;
  /** Model name that the client requested. */
  readonly model: string;
  readonly messages: readonly Msg[];
  readonly call: ApiCall;
  readonly format: ApiFormat;
  /** Checks the conversation with the agent that answers it. Throws what the client gets. */
  readonly check: (agent: ReActAgent) => void;
  /** Returns the response with an answer that is not streamed. */
  readonly wholeAnswer: (result: AgentResult) => Response;
  /** Creates the encoder of a streamed answer. */
  readonly encoder: () => EncodeBatch;
}

/**
 * Answers a request that contains the whole conversation. Nothing is stored. The run ends if the
 * client disconnects. The system messages of the client become user messages, unless
 * the endpoint has `systemMessages: 'keep'`.
 */
export function answerConversation(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  conversation: PostedConversation,
): Promise<Response> {
  const answer = answerOnce(c, settings, conversation);
  return openTurn(c, settings, conversation.format, answer);
}

async function answerOnce(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  { id, model, messages: posted, call, format, ...client }: PostedConversation,
): Promise<Response> {
  const messages = settings.systemMessages === 'keep' ? posted : withoutSystem(posted);
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
  const sessionAgent = await makeAgent(settings, { ...setupOf(c, id), memory, model });
  const { agent } = sessionAgent;
  let runEnd: Promise<unknown> | undefined;
  try {
    call.check(agent);
    client.check(agent);
    // Without a Durable Object, no route of this endpoint could accept the approval.
    if (!objectsOf(c.get('home'))) checkApprovals(agent, settings);
    const controller = new AbortController();
    onDisconnect(c, () => controller.abort());
    const run = agent.stream(input, {
      ...call.options,
      clientTexts: [...clientTexts, ...(call.options.clientTexts ?? [])],
      signal: controller.signal,
    });
    if (!format.stream) return client.wholeAnswer(await run.result);
    const requestId = c.get('requestId');
    const batches = await awaitOpening(run.batches()[Symbol.asyncIterator](), hasOutput);
    // Reads `result` only after the stream has its reader, because otherwise the run would also
    // continue without a reader.
    runEnd = run.result;
    return eventStreamResponse(format, {
      batches,
      encode: client.encoder(),
      keepAliveMs: settings.limits.keepAliveMs,
      onCancel: () => waitUntil(c, run.cancel()),
      onError: (error) => logError(error, requestId),
    });
  } finally {
    closeInBackground(c, sessionAgent, runEnd);
  }
}
