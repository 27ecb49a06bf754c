import { completion, openEventStream, textEvents, write } from './event-stream.ts';
import { sendJson, type Exchange } from './exchange.ts';

/** Serves `/echo/v1`. The text of the answer is the request as JSON: `{ path, headers, body }`. */
export async function echo({ request, response, body }: Exchange): Promise<void> {
  const text = JSON.stringify({ path: request.url, headers: request.headers, body });
  const model = body.model ?? 'echo';
  if (body.stream !== true) return sendJson(response, 200, completion(model, text));
  openEventStream(response);
  await write(response, textEvents(model, [text]).join(''));
  response.end();
}

/** Serves `/deltas/COUNT/v1`. The answer has COUNT deltas, all in one write. */
export async function deltas({
  response,
  parameters: [count = '2000'],
  body,
}: Exchange): Promise<void> {
  openEventStream(response);
  const pieces = Array.from({ length: Number(count) }, (_, index) => ` word${index}`);
  await write(response, textEvents(body.model ?? 'deltas', pieces).join(''));
  response.end();
}
