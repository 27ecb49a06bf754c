// The floor: a hand-written Worker that checks a token and rewrites the model's stream as a UI
// message stream. The client sends the whole history. The Worker has no storage, no validation and
// no limits, and it does not report a failure of the model.
import { seenTurns, system } from '../plan.mjs';

export const app = {
  async fetch(request, env) {
    if (request.headers.get('authorization') !== `Bearer ${env.TOKEN}`)
      return new Response(null, { status: 401 });
    const { messages, model } = await request.json();
    const asked = messages
      .slice(-1 - 2 * seenTurns)
      .map(({ role, parts }) => ({ role, content: parts.map(({ text }) => text).join('') }));
    const answer = await fetch(`${env.WORLD}/${model}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer x' },
      body: JSON.stringify({
        model,
        messages: [{ role: 'system', content: system }, ...asked],
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    return new Response(uiStream(answer.body.getReader()), {
      headers: { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' },
    });
  },
};

const event = (chunk) => `data: ${JSON.stringify(chunk)}\n\n`;

function uiStream(reader) {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  let buffer = '';
  let head =
    event({ type: 'start', messageId: crypto.randomUUID() }) +
    event({ type: 'start-step' }) +
    event({ type: 'text-start', id: '1' });
  return new ReadableStream(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) {
            const tail = [
              { type: 'text-end', id: '1' },
              { type: 'finish-step' },
              { type: 'finish', finishReason: 'stop' },
            ];
            controller.enqueue(encoder.encode(`${tail.map(event).join('')}data: [DONE]\n\n`));
            return controller.close();
          }
          const text = textIn(decoder.decode(value, { stream: true }));
          if (!text) continue;
          controller.enqueue(
            encoder.encode(head + event({ type: 'text-delta', id: '1', delta: text })),
          );
          head = '';
          return undefined;
        }
      },
      cancel: () => reader.cancel(),
    },
    { highWaterMark: 0 },
  );

  function textIn(read) {
    buffer += read;
    let text = '';
    let start = 0;
    for (let end = buffer.indexOf('\n'); end !== -1; end = buffer.indexOf('\n', start)) {
      if (buffer.startsWith('data: {', start))
        text += JSON.parse(buffer.slice(start + 6, end)).choices[0]?.delta.content ?? '';
      start = end + 1;
    }
    buffer = buffer.slice(start);
    return text;
  }
}
