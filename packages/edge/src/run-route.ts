import { AgentError, userMessage } from '@isoloop/core';
import type { AgentEvent, AgentInput, Decision, EventBatch, Memory } from '@isoloop/core';
import { toTimelineEvent } from '@isoloop/core/ai-sdk';
import type { Context } from 'hono';
import { keepTurn } from './keep-turn.ts';
import { acceptDecisions, checkSizes } from './decisions.ts';
import { awaitOpening, eventStream, eventStreamHeaders, hasBegun } from './event-stream.ts';
import type { EdgeEnv, EdgeLimits, HandlerSettings } from './handler-options.ts';
import { checkModel, invalidField, readJson } from './request-body.ts';
import type { RequestBody } from './request-body.ts';
import { onDisconnect } from './request-context.ts';
import { makeAgent } from './session-agent.ts';
import { checkSession, echoOf, openMemory, readEcho } from './session.ts';
import { readUserMessage } from './user-message.ts';

/**
 * `POST /api/run`: a turn as the agent's own events, for clients without AI SDK. `{ id, model?, input }` asks, with a text or a UI
 * message; `{ id, decisions }` decides about calls that wait; `{ id }` alone goes on from the log. The events have no prompts in them.
 */
export async function runRoute(c: Context<EdgeEnv>, settings: HandlerSettings): Promise<Response> {
  const { limits, models } = settings;
  const body = await readJson(c.req.raw, limits.bodyBytes);
  const session = checkSession(body['id']);
  const model = body['model'] === undefined ? models[0]! : checkModel(body['model'], models);
  const input = readInput(body, limits);
  const setup = { env: c.env, session, user: c.get('user') };
  const memory = await openMemory(settings, { ...setup, ...readEcho(c) });
  const { agent } = await makeAgent(settings, { ...setup, memory, model });
  if (Array.isArray(input)) await acceptDecisions(agent, input as readonly Decision[]);

  const controller = new AbortController();
  const stream = agent.stream(input, { detached: true, signal: controller.signal });
  const leave = keepTurn(c, stream, () => controller.abort(), limits.afterDisconnectMs);
  onDisconnect(c, leave);
  const batches = await awaitOpening(stream.batches()[Symbol.asyncIterator](), hasBegun);
  return new Response(
    eventStream({ batches, encode: (batch) => toPublic(batch, memory), keepAliveMs: limits.keepAliveMs, onCancel: leave }),
    {
      headers: eventStreamHeaders,
    },
  );
}

function readInput({ input, decisions }: RequestBody, limits: EdgeLimits): AgentInput | undefined {
  if (input !== undefined && decisions !== undefined) throw invalidField('decisions', 'cannot stand beside `input`');
  if (decisions !== undefined) return readDecisions(decisions, limits);
  if (input === undefined) return undefined;
  // An id of our own: one that is in the log already would be two messages there.
  if (typeof input !== 'string') return { ...readUserMessage(input), id: crypto.randomUUID() };
  if (!input.trim()) throw invalidField('input', 'must not be empty');
  return userMessage(input);
}

function readDecisions(given: unknown, limits: EdgeLimits): readonly Decision[] {
  const { messages } = limits;
  if (!Array.isArray(given) || !given.length) throw invalidField('decisions', 'must be a list of decisions');
  if (given.length > messages) throw new AgentError('PAYLOAD_TOO_LARGE', `The request has more than ${messages} decisions.`);
  const decisions = given.map((item: unknown, index): Decision => {
    const param = `decisions[${index}]`;
    const { type, toolUseId, reason, output, state } = Object(item) as Readonly<Record<string, unknown>>;
    if (typeof toolUseId !== 'string' || !toolUseId) throw invalidField(`${param}.toolUseId`, 'must be the id of a tool call');
    switch (type) {
      case 'approve':
        return { type, toolUseId };
      case 'reject':
        if (reason !== undefined && typeof reason !== 'string') throw invalidField(`${param}.reason`, 'must be a text');
        return { type, toolUseId, ...(reason !== undefined && { reason }) };
      case 'result':
        if (typeof output !== 'string') throw invalidField(`${param}.output`, 'must be a text');
        if (state !== undefined && state !== 'success' && state !== 'error')
          throw invalidField(`${param}.state`, 'must be "success" or "error"');
        return { type, toolUseId, output, ...(state !== undefined && { state }) };
      default:
        throw invalidField(`${param}.type`, 'must be "approve", "reject" or "result"');
    }
  });
  checkSizes(decisions, limits, (index) => `decisions[${index}]`);
  return decisions;
}

/** Events as a client may see them: what the model was asked with stays here. */
function toPublic(batch: EventBatch, memory: Memory): readonly object[] {
  return batch.map((event) => {
    const echo = /^run-(start|end)$/.test(event.type) && event.agentPath.length < 2 ? echoOf(memory) : undefined;
    return { ...(toTimelineEvent(event) ?? event), ...more(event), ...(echo !== undefined && { echo }) };
  });
}

/** What a timeline leaves out and a client needs to show the turn. */
function more(event: AgentEvent): object {
  switch (event.type) {
    case 'pre-acting':
      return { input: event.toolUse.input };
    case 'post-acting':
      return { output: event.result.output };
    case 'post-call':
      return { message: event.message };
    case 'suspended':
      return { pending: event.pending };
    case 'run-end': {
      const { text, pending, output } = event.result;
      return { text, pending, ...(output !== undefined && { output }) };
    }
    default:
      return {};
  }
}
