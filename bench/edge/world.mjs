// `node world.mjs` runs the model and the KV store in a separate process, so that the CPU time of
// the Worker does not include them. Prints "listening PORT".
// - `POST /MODEL/v1/chat/completions`: a model that starts after `firstDeltaMs`; MODEL is
//   DELTAS-burst, DELTAS-paced, or DELTAS-instant, which starts at once
// - all other requests: Workers KV with workerd's protocol, with all values in a map
import http from 'node:http';
import { words } from '../lib/scenarios.mjs';
import { occurrences, pieces } from '../lib/server-bytes.mjs';

const firstDeltaMs = 20;
const paceMs = 5;
const head = {
  id: 'chatcmpl-8fVq2hT1mock0000000000000001',
  object: 'chat.completion.chunk',
  created: 1_760_000_000,
  model: 'mock-model',
};
const event = (rest) => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
const delta = (content) =>
  event({ choices: [{ index: 0, delta: content, logprobs: null, finish_reason: null }] });
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };
const end = `${event({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }] })}${event({ choices: [], usage })}data: [DONE]\n\n`;
const bodies = new Map();
const values = new Map();
/** The open paced streams. One timer sends a piece to each of them at each tick. */
const paced = new Set();

const server = http.createServer((request, response) => {
  const begin = performance.now();
  const model = /^\/(\d+-\w+)\/v1\/chat\/completions$/.exec(request.url)?.[1];
  void (model ? complete(model, begin, request, response) : keep(request, response));
});
server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log('listening', server.address().port));
setInterval(() => {
  for (const stream of paced) {
    if (stream.response.destroyed || stream.at === stream.pieces.length) paced.delete(stream);
    if (stream.response.destroyed) continue;
    if (stream.at === stream.pieces.length) stream.response.end();
    else stream.response.write(stream.pieces[stream.at++]);
  }
}, paceMs);

/**
 * Streams an answer. The first delta contains the number of the user's messages and the model's
 * delay in milliseconds.
 */
async function complete(model, begin, request, response) {
  const body = Buffer.concat(await request.toArray());
  const asked = occurrences(body, '"role":"user"');
  const writes = piecesOf(model);
  setTimeout(
    () => {
      response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache',
      });
      const took = (performance.now() - begin).toFixed(3);
      response.write(
        delta({ role: 'assistant', content: '' }) + delta({ content: `[${asked} ${took}]` }),
      );
      if (model.endsWith('-paced')) return paced.add({ response, pieces: writes, at: 0 });
      for (const piece of writes) response.write(piece);
      return response.end();
    },
    model.endsWith('-instant') ? 0 : Math.max(0, firstDeltaMs - (performance.now() - begin)),
  );
}

function piecesOf(model) {
  if (!bodies.has(model)) {
    const events = [...words(Number.parseInt(model) - 1).map((content) => delta({ content })), end];
    bodies.set(
      model,
      model.endsWith('-paced') ? events.map((text) => Buffer.from(text)) : pieces(events.join('')),
    );
  }
  return bodies.get(model);
}

async function keep(request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://kv');
  const body = Buffer.concat(await request.toArray());
  const key = decodeURIComponent(pathname.slice(1));
  if (request.method === 'PUT') values.set(key, body);
  else if (request.method === 'DELETE') values.delete(key);
  else if (request.method === 'POST' && key === 'bulk/get') {
    const found = JSON.parse(body).keys.map((each) => [each, values.get(each)?.toString() ?? null]);
    return response.end(JSON.stringify(Object.fromEntries(found)));
  } else if (key === '') {
    const names = [...values.keys()]
      .filter((name) => name.startsWith(searchParams.get('prefix') ?? ''))
      .toSorted();
    return response.end(
      JSON.stringify({
        keys: names.map((name) => ({ name })),
        list_complete: true,
        cacheStatus: null,
      }),
    );
  } else if (!values.has(key)) return response.writeHead(404).end();
  else return response.end(values.get(key));
  return response.end();
}
