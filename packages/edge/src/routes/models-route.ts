import type { HandlerSettings } from '../handler-options.ts';

/** `GET /v1/models` and `GET /llm/v1/models`: the names a client may ask for, in OpenAI's shape. */
export function modelsRoute({ models }: Pick<HandlerSettings, 'models'>): Response {
  const data = models.map((id) => ({ id, object: 'model', created: 0, owned_by: 'isoloop' }));
  return Response.json({ object: 'list', data });
}
