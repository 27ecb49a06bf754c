import type { RequestVariables } from '../handler-options.ts';
import { errorResponse, logError } from '../http/error-response.ts';
import type { SessionCommand, SessionRequest } from './session-command.ts';
import { isOpenAiFace } from './turn-face.ts';

/** Answers a request to a session. An error becomes a response, and is logged. */
export async function answerRequest(
  asked: SessionRequest,
  answer: (asked: SessionRequest) => Promise<Response>,
): Promise<Response> {
  try {
    return await answer(asked);
  } catch (error) {
    logError(error, asked.requestId);
    return errorResponse(error, { requestId: asked.requestId, face: faceOf(asked.command) });
  }
}

function faceOf(command: SessionCommand): RequestVariables['face'] {
  return command.type === 'turn' && isOpenAiFace(command.face) ? 'openai' : 'isoloop';
}

export function noContent(): Response {
  return new Response(null, { status: 204 });
}
