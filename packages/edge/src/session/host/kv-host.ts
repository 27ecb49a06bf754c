import type { Memory, ReActAgent } from '@isoloop/core';
import { createUiMessageEncoder } from '@isoloop/core/ai-sdk';
import type { UiChunk } from '@isoloop/core/ai-sdk';
import type { Context } from 'hono';
import type { EdgeEnv, HandlerSettings } from '../../handler-options.ts';
import { awaitOpening, streamResponse, type EncodeBatch } from '../../turn/event-stream.ts';
import { keepTurn } from '../../turn/keep-turn.ts';
import { toPublicEvents } from '../../turn/public-events.ts';
import { makeAgent, echoHeader, echoOf, openMemory } from '../../turn/session.ts';
import { objectEncoder } from '../../wire/object-encoder.ts';
import { placeOf } from '../live-turn.ts';
import { noContent } from '../session-answer.ts';
import { isOpenAiFace, openAiOf, opens } from '../turn-face.ts';
import type { HostSettings, TurnHost, TurnRequest } from './turn-host.ts';
import { AgentError } from '@isoloop/core';
import { mayAskApproval } from '@isoloop/core/adapter';
import type { TurnInput } from '../../turn/chat-turn.ts';
import { beginTurn, type SessionTurn } from '../session-turn.ts';

/**
 * Returns a host that runs each turn within the HTTP request that asks for the turn. The session is
 * stored in KV, or in the memory that `settings.memory` opens.
 */
export function kvHost(c: Context<EdgeEnv>, settings: HostSettings, sessionId: string): TurnHost {
  const setup = { env: c.env, user: c.get('caller').user, sessionId };
  return {
    async answer(request) {
      const { turn, face, call, echo } = request;
      const memory = await openMemory(settings, { ...setup, ...echo });
      const made = await makeAgent(settings, { ...setup, memory, model: turn.model });
      const { stream, leave } = await keepTurn(c, {
        ...made,
        memory,
        begin: async () => {
          call?.check(made.agent);
          return beginKvTurn(made.agent, turn.turn, settings);
        },
        settings,
        call: call?.options,
      });
      if (isOpenAiFace(face) && !face.stream) {
        const result = await stream.result;
        const told = echoOf(memory);
        const headers = told === undefined ? {} : { [echoHeader]: told };
        const openai = openAiOf(settings);
        return openai.whole(result, await openai.faceOf(face, turn.turn, memory), headers);
      }
      const given = stream.batches()[Symbol.asyncIterator]();
      const batches = await awaitOpening(given, (batch) => opens(face, batch));
      return streamResponse(face, {
        batches,
        encode: await encoderOf(request, { memory, agent: made.agent, settings }),
        // A client that lost its connection sends this id with its next request, so that the
        // request starts no second turn. This host cannot replay events.
        place: (batch) => (face.kind === 'events' ? placeOf(stream, batch) : undefined),
        keepAliveMs: settings.limits.keepAliveMs,
        onCancel: leave,
      });
    },
    reconnect: async () => noContent(),
  };
}

/**
 * Throws `NEEDS_DURABLE_OBJECT` if the agent may ask for approval and the option `approvals` is not
 * set.
 */
export function checkApprovals(
  agent: ReActAgent,
  { approvals }: Pick<HandlerSettings, 'approvals'>,
): void {
  if (!approvals && mayAskApproval(agent)) throw needsObject();
}

interface EncoderSetup {
  readonly memory: Memory;
  readonly agent: ReActAgent;
  readonly settings: HostSettings;
}

async function encoderOf(
  { turn, face, call }: TurnRequest,
  { memory, agent, settings }: EncoderSetup,
): Promise<EncodeBatch> {
  if (face.kind === 'events') return (batch) => toPublicEvents(batch, memory);
  if (face.kind === 'object') return objectEncoder(agent);
  if (isOpenAiFace(face)) {
    const openai = openAiOf(settings);
    return openai.encoder(await openai.faceOf(face, turn.turn, memory), call);
  }
  const encoder = createUiMessageEncoder({ events: face.events, messageId: turn.messageId });
  return (batch) => encoder.encode(batch).map((chunk) => addEcho(chunk, echoOf(memory)));
}

/**
 * Adds the echo, which identifies the session state for the client's next request, to the metadata
 * of a chunk. The first chunk has the echo from before the turn, and the last chunk has the new
 * echo.
 */
function addEcho(chunk: UiChunk, echo: string | undefined): UiChunk {
  if (echo === undefined || !('messageMetadata' in chunk)) return chunk;
  return { ...chunk, messageMetadata: { ...chunk.messageMetadata, echo } };
}

/**
 * Begins a turn of a session outside a Durable Object. Outside a Durable Object, two approvals of
 * one tool call at the same time would both run the tool. Without the option `approvals`, this
 * function therefore throws `NEEDS_DURABLE_OBJECT` in two cases:
 *
 * - The agent may ask for approval. This is checked first.
 * - The turn approves a tool call that asks for approval only during a run, such as a call of a
 *   child agent.
 */
async function beginKvTurn(
  agent: ReActAgent,
  turn: SessionTurn,
  settings: Pick<HandlerSettings, 'approvals' | 'openai' | 'systemMessages'>,
): Promise<TurnInput> {
  checkApprovals(agent, settings);
  if (settings.approvals) return beginTurn(agent, turn, settings);
  const begun = await beginTurn(agent, withoutApprovals(turn), settings);
  if (Array.isArray(begun.input) && begun.input.some(isApproval)) throw needsObject();
  return begun;
}

/**
 * Removes the approvals that come with a new message, so that the message rejects their tool calls.
 * With an error instead, every later message would fail too, because the client sends the approvals
 * again.
 */
function withoutApprovals(turn: SessionTurn): SessionTurn {
  if (turn.kind !== 'message' || !turn.decisions) return turn;
  return { ...turn, decisions: turn.decisions.filter((decision) => !isApproval(decision)) };
}

function isApproval(item: object): boolean {
  return 'type' in item && item.type === 'approve';
}

function needsObject(): AgentError {
  return new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'The agent may ask for approvals, which need a Durable Object: bind CHAT_SESSION.',
  );
}
