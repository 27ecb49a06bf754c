import { openai } from '@isoloop/core/openai';

/** Id of the rule that the request breaks. */
export const brokenId = 'chat-completions/some-messages';

/** Sends a request without messages to a server that answers 503. */
export async function sendBadRequest(): Promise<void> {
  const fetch = async (): Promise<Response> => new Response('', { status: 503 });
  const model = openai({ model: 'm', baseURL: 'http://127.0.0.1/v1', fetch });
  const { signal } = new AbortController();
  const reply = model.stream({ messages: [], tools: [] }, { signal });
  await reply[Symbol.asyncIterator]()
    .next()
    .catch(() => {});
}
