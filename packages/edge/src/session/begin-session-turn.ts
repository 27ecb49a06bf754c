import type { ReActAgent } from '@isoloop/core';
import {
  beginTurn,
  checkFirstTurn,
  reopenCalls,
  resumeTurn,
  type BeginTurnOptions,
  type TurnInput,
  type TurnRequest,
} from '@isoloop/core/host';
import type { HandlerSettings } from '../settings/handler-options.ts';
import { openAiOf } from '../answer/formats.ts';

/**
 * Begins a turn of a session and returns the agent's input. OpenAI's API may first go back to an
 * earlier point of the session.
 */
export async function beginSessionTurn(
  agent: ReActAgent,
  clientRequest: TurnRequest,
  settings: HandlerSettings,
  options?: BeginTurnOptions,
): Promise<TurnInput> {
  const request =
    (await settings.openai?.prepare(agent.memory, clientRequest, settings)) ?? clientRequest;
  // A client whose turn failed sends its results again.
  if (request.kind === 'decide' && request.decisions.every(({ type }) => type === 'result'))
    await reopenCalls(agent, request.decisions);
  return beginTurn(agent, request, options);
}

/**
 * Returns the agent's input to resume a turn whose isolate died. Returns `undefined` if the turn
 * had ended or was interrupted.
 */
export async function resumeSessionTurn(
  agent: ReActAgent,
  clientRequest: TurnRequest,
  settings: HandlerSettings,
): Promise<TurnInput | undefined> {
  const request = withoutPoint(clientRequest);
  return resumeTurn(agent, request, (options) =>
    beginSessionTurn(agent, request, settings, options),
  );
}

/** Throws if the first turn of a session has nothing to continue from. */
export function checkFirstSessionTurn(request: TurnRequest, settings: HandlerSettings): void {
  if ('afterInputId' in request) throw openAiOf(settings).unknownResponseError();
  checkFirstTurn(request);
}

/**
 * Removes the point, which was checked when the turn began. The turn itself may have changed the
 * session since then.
 */
function withoutPoint(request: TurnRequest): TurnRequest {
  if (!('afterInputId' in request)) return request;
  const { afterInputId: _after, ...rest } = request;
  return rest;
}
