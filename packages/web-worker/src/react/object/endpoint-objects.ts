import { AgentError } from '@isoloop/core';
import { objectMediaType } from '@isoloop/core/adapter';
import type { AgentEndpoint } from '../source/agent-source.ts';
import type { Endpoint } from '../source/endpoint-agent.ts';
import { channelOf, routesOf } from '../source/endpoint-routes.ts';
import { objectsIn } from './objects-in.ts';

/** What a page asks an endpoint for. */
export interface ObjectRequest {
  readonly sessionId: string;
  /** Message of the user. Without one, the object that is still on its way is read. */
  readonly text?: string | undefined;
  readonly signal: AbortSignal;
}

/** Yields the object of an endpoint while it arrives. If the signal aborts, also ends its run. */
export async function* endpointObjects(
  endpoint: AgentEndpoint,
  { sessionId, text, signal }: ObjectRequest,
): AsyncGenerator<unknown, unknown> {
  const { api, options } = endpoint as Endpoint;
  const { ask, pathOf } = routesOf(api, () => options);
  const path = pathOf(sessionId);
  const headers = { accept: objectMediaType };
  let isRunning = text !== undefined;
  try {
    const request = isRunning
      ? ask(api, { method: 'POST', headers, signal, body: bodyOf(sessionId, text, options) })
      : ask(`${path}/stream`, { headers, signal });
    const answer = await request;
    if (answer.status === 204) return undefined;
    isRunning = true;
    if (!answer.headers.get('content-type')?.includes(objectMediaType))
      throw new AgentError('CONFIGURATION', `${api} does not send ${objectMediaType}.`);
    // The page shows that an object is on its way.
    if (text === undefined) yield undefined;
    return yield* objectsIn(answer.body!);
  } finally {
    const channel = channelOf(path);
    if (signal.aborted && isRunning)
      await ask(`${path}/interrupt`, { method: 'POST', body: { mode: 'abort' } }).catch(() => {});
    channel.postMessage('changed');
    channel.close();
  }
}

function bodyOf(id: string, text: string | undefined, { body }: Endpoint['options']): object {
  const message = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] };
  return { ...body, id, messages: [message] };
}
