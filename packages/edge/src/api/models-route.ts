import type { HandlerSettings } from '../settings/handler-options.ts';

/**
 * Handles `GET /v1/models` and `GET /llm/v1/models`: returns the model names that a client may
 * request, in OpenAI's format.
 */
export function modelsRoute({ models }: Pick<HandlerSettings, 'models'>): Response {
  const data = models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'isoloop' }));
  return Response.json({ object: 'list', data });
}
