import { AgentError } from '@isoloop/core';
import { objectMediaType } from '@isoloop/core/output';
import { valueFor } from '@isoloop/core/endpoint';
import type { AgentEndpoint } from '../source/agent-source.ts';
import type { Endpoint } from '../source/endpoint-agent.ts';
import { channelOf, routesOf } from '../source/endpoint-routes.ts';
import { objectsIn } from '@isoloop/core/stream';

/** What a page asks an endpoint for. */
export interface ObjectRequest {
  readonly sessionId: string;
  /** Message of the user. Without one, the object that is still on its way is read. */
  readonly text?: string | undefined;
  readonly signal: AbortSignal;
  /** Whether to delete the conversation afterwards. */
  readonly isTemporary: boolean;
}

/**
 * Yields the object of an endpoint while it arrives. If the signal aborts, also ends its run.
 * Rejects if the run cannot be ended.
 */
export async function* endpointObjects(
  endpoint: AgentEndpoint,
  { sessionId, text, signal, isTemporary }: ObjectRequest,
): AsyncGenerator<unknown, unknown> {
  const { api, options } = endpoint as Endpoint;
  const routes = routesOf(api, () => options);
  const { ask, pathOf } = routes;
  const path = pathOf(sessionId);
  const headers = { accept: objectMediaType };
  const reading = new AbortController();
  const send = async (): Promise<Response> => {
    if (text === undefined) return ask(`${path}/stream`, { headers, signal: reading.signal });
    const common = await valueFor('body', options.body, 'INVALID_INPUT');
    const body = bodyOf(sessionId, text, common);
    return ask(api, { method: 'POST', headers, signal: reading.signal, body });
  };
  const whenAnswered = send();
  const end = async (): Promise<void> => {
    // An endpoint that has not answered may have no run yet.
    const answer = await whenAnswered.catch(() => undefined);
    if (answer && answer.status !== 204) await routes.interrupt(sessionId);
  };
  let ending: Promise<void> | undefined;
  const stop = (): void => {
    ending ??= end();
    const endReading = (): void => reading.abort();
    ending.then(endReading, endReading);
  };
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  try {
    const answer = await whenAnswered;
    if (answer.status === 204) return undefined;
    if (!answer.headers.get('content-type')?.includes(objectMediaType))
      throw new AgentError('CONFIGURATION', `${api} does not send ${objectMediaType}.`);
    // The page shows that an object is on its way.
    if (text === undefined) yield undefined;
    for (let { body } = answer; ;) {
      try {
        return yield* objectsIn(body!);
      } catch (error) {
        if (signal.aborted || !AgentError.is(error) || !lostCodes.test(error.code)) throw error;
        // A run in a Durable Object goes on without its reader.
        const rest = await ask(`${path}/stream`, { headers, signal: reading.signal });
        if (rest.status === 204) throw error;
        ({ body } = rest);
      }
    }
  } finally {
    signal.removeEventListener('abort', stop);
    const channel = channelOf(path);
    try {
      await ending;
    } finally {
      // The object need not wait for this.
      if (isTemporary) void ask(path, { method: 'DELETE' }).catch(() => {});
      channel.postMessage('changed');
      channel.close();
    }
  }
}

/** Codes of a connection that was lost. */
const lostCodes = /^(MODEL_UNREACHABLE|ENDPOINT_TIMEOUT)$/;

function bodyOf(id: string, text: string, common: object | undefined): object {
  const message = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
  return { ...common, id, messages: [message] };
}
