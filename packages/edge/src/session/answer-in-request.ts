import { AgentError, type Memory, type ReActAgent } from '@isoloop/core';
import { type TurnInput, type TurnRequest, mayAskForApproval } from '@isoloop/core/host';
import { timerMs } from '@isoloop/core/wait';
import type { Context } from 'hono';
import type { NewTurn } from '../queue/turn-queue.ts';
import type { EdgeEnv, HandlerSettings, SessionSetup } from '../settings/handler-options.ts';
import { logError } from '../http/error-response.ts';
import { onDisconnect, closeInBackground, waitUntil } from '../http/request-context.ts';
import { makeAgent } from './setup.ts';
import { liveResponse } from '../answer/live-response.ts';
import { beginSessionTurn } from './begin-session-turn.ts';
import { titleNewSession } from './title-new-session.ts';
import { addRequestRun } from './request-runs.ts';
import { openMemory } from './homes.ts';
import type { SentTurn } from './send-turn.ts';

/**
 * Runs a turn within the HTTP request that asks for it, and returns the answer. The session is
 * stored in KV, or in the memory that the option `memory` opens.
 */
export async function answerInRequest(
  c: Context<EdgeEnv>,
  settings: HandlerSettings,
  setup: SessionSetup,
  { turn, format, call, echoSetup, inBackground }: SentTurn & { readonly turn: NewTurn },
): Promise<Response> {
  if (inBackground) throw noQueueError();
  const memory = await openMemory(c.get('home'), { ...setup, ...echoSetup });
  const sessionAgent = await makeAgent(settings, { ...setup, memory, model: turn.model });
  const { agent } = sessionAgent;
  let runEnd: Promise<unknown> | undefined;
  try {
    call?.check(agent);
    const { input, decisions } = await beginKvTurn(agent, turn.request, settings);
    await titleNewSession(agent);
    const abort = new AbortController();
    const { signal } = abort;
    const options = { ...call?.options, decisions, detached: true, signal };
    const stream = agent.stream(input, options);
    runEnd = stream.result;
    addRequestRun(settings, setup, { memory, abort, runEnd });
    const onCancel = keepRun(c, { runEnd, memory, abort, settings });
    const live = { turn, agent, stream, call, earlierMessages: [] };
    return await liveResponse(live, { format, settings, inRequest: { memory, onCancel } });
  } finally {
    closeInBackground(c, sessionAgent, runEnd);
  }
}

interface KeptRun {
  /** Settles when the run ends. */
  readonly runEnd: Promise<unknown>;
  /** Memory of the session. The agent may use a wrapper of this memory. */
  readonly memory: Memory;
  readonly abort: AbortController;
  readonly settings: HandlerSettings;
}

/**
 * Keeps the Worker alive until a run ends. Returns a function to call when the client disconnects:
 * the run then continues for `limits.afterDisconnectMs`. An abort of the request calls it, too.
 */
function keepRun(c: Context<EdgeEnv>, { runEnd, memory, abort, settings }: KeptRun): () => void {
  const { afterDisconnectMs } = settings.limits;
  const requestId = c.get('requestId');
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isRunning = true;
  const whenRunEnded = runEnd
    .catch((error: unknown) => logError(error, requestId))
    .finally(() => {
      isRunning = false;
      clearTimeout(timer);
    });
  waitUntil(c, whenRunEnded);
  const leave = (): void => {
    if (!isRunning) return;
    // A memory may write what it has when its client is gone.
    (memory as { readonly leave?: () => void }).leave?.();
    timer ??= setTimeout(() => abort.abort(), timerMs(afterDisconnectMs));
  };
  onDisconnect(c, leave);
  return leave;
}

/**
 * Throws `NEEDS_DURABLE_OBJECT` if the agent may ask for approval and the option `approvals` is not
 * set.
 */
export function checkApprovals(agent: ReActAgent, { approvals }: HandlerSettings): void {
  if (!approvals && mayAskForApproval(agent)) throw needsObjectError();
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
  request: TurnRequest,
  settings: HandlerSettings,
): Promise<TurnInput> {
  checkApprovals(agent, settings);
  if (settings.approvals) return beginSessionTurn(agent, request, settings);
  const turnInput = await beginSessionTurn(agent, withoutApprovals(request), settings);
  if (Array.isArray(turnInput.input) && turnInput.input.some(startsTool)) throw needsObjectError();
  return turnInput;
}

/**
 * Removes the approvals that come with a new message, so that the message rejects their tool calls.
 * With an error instead, every later message would fail too, because the client sends the approvals
 * again.
 */
function withoutApprovals(request: TurnRequest): TurnRequest {
  if (request.kind !== 'message' || !request.decisions) return request;
  return { ...request, decisions: request.decisions.filter((decision) => !startsTool(decision)) };
}

/** Returns whether an item of an input is a decision that starts a tool. An edit also approves. */
function startsTool(item: object): boolean {
  return 'type' in item && (item.type === 'approve' || item.type === 'edit');
}

/** Creates the error for a session in KV, whose turns cannot wait for each other. */
export function noQueueError(): AgentError {
  return new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'Messages can wait only for a session in a Durable Object: bind CHAT_SESSION.',
  );
}

function needsObjectError(): AgentError {
  return new AgentError(
    'NEEDS_DURABLE_OBJECT',
    'The agent may ask for approvals, which need a Durable Object: bind CHAT_SESSION.',
  );
}
