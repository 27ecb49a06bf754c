// `node server.mjs [port] [static folder]`: an OpenAI-compatible server that answers with prepared
// bytes. Prints "listening PORT".
// - `POST /SCENARIO/v1/chat/completions`: the number of tool results in the request selects the
//   reply
// - `GET /static/FILE`: files for Chromium, with the headers COOP and COEP, which give the page
//   precise timers
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { args, callId, model, spec, toolName, words } from './lib/scenarios.mjs';
import { occurrences, pieces } from './lib/server-bytes.mjs';

const usage = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0 },
};
const headers = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'cross-origin-resource-policy': 'cross-origin',
};
const staticHeaders = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const mediaTypes = { '.js': 'text/javascript', '.html': 'text/html' };
const staticFolder = process.argv[3] && path.resolve(process.argv[3]);
const prepared = new Map();

const server = http.createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://bench');
  const scenario = /^\/([\w-]+)\/v1\/chat\/completions$/.exec(pathname)?.[1];
  if (scenario && request.method === 'POST') void complete(scenario, request, response);
  else if (staticFolder && pathname.startsWith('/static/'))
    void sendFile(pathname.slice('/static/'.length), response);
  else response.writeHead(pathname === '/favicon.ico' ? 204 : 404, headers).end();
});
server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () =>
  console.log('listening', server.address().port),
);

async function complete(scenario, request, response) {
  const body = Buffer.concat(await request.toArray());
  const { calls } = spec(scenario);
  const turns = turnsOf(scenario);
  const turn = Math.floor(occurrences(body, '"role":"tool"') / (calls || 1));
  response.writeHead(200, {
    ...headers,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  for (const piece of turns[Math.min(turn, turns.length - 1)]) {
    if (response.destroyed) return;
    await new Promise((resolve) =>
      response.write(piece)
        ? setImmediate(resolve)
        : response.once('drain', resolve).once('close', resolve),
    );
  }
  response.end();
}

async function sendFile(name, response) {
  const data = await readFile(path.join(staticFolder, path.normalize(name))).catch(() => undefined);
  if (!data) return response.writeHead(404, headers).end();
  return response
    .writeHead(200, {
      ...headers,
      ...staticHeaders,
      'content-type': mediaTypes[path.extname(name)],
    })
    .end(data);
}

/** Returns the bytes of each reply of a scenario, in pieces. */
function turnsOf(scenario) {
  if (!prepared.has(scenario)) {
    const script = spec(scenario);
    prepared.set(
      scenario,
      Array.from({ length: script.turns + 1 }, (_, turn) =>
        turn < script.turns ? toolTurn(script, turn) : answerTurn(script, turn),
      ),
    );
  }
  return prepared.get(scenario);
}

function answerTurn({ answer, trickle }, turn) {
  const chunk = chunksOf(turn);
  const events = [
    chunk({ role: 'assistant', content: '', refusal: null }),
    ...words(answer).map((content) => chunk({ content })),
    chunk.end('stop'),
  ];
  return trickle ? events.map((event) => Buffer.from(event)) : pieces(events.join(''));
}

function toolTurn(script, turn) {
  const chunk = chunksOf(turn);
  const events = [];
  for (let index = 0; index < script.calls; index++) {
    const call = {
      index,
      id: callId(turn, index),
      type: 'function',
      function: { name: toolName, arguments: '' },
    };
    events.push(
      chunk(
        index === 0
          ? { role: 'assistant', content: null, tool_calls: [call] }
          : { tool_calls: [call] },
      ),
    );
    const json = args(script, turn, index);
    const step = Math.ceil(json.length / script.fragments);
    for (let at = 0; at < json.length; at += step)
      events.push(
        chunk({ tool_calls: [{ index, function: { arguments: json.slice(at, at + step) } }] }),
      );
  }
  return pieces(events.join('') + chunk.end('tool_calls'));
}

/**
 * Returns a function that formats the events of one reply. Each reply has its own id, as at a real
 * provider.
 */
function chunksOf(turn) {
  const head = {
    id: `chatcmpl-8fVq2hT1mock000000000000${String(turn).padStart(4, '0')}`,
    object: 'chat.completion.chunk',
    created: 1_760_000_000,
    model,
    system_fingerprint: 'fp_44709d6fcb',
  };
  const event = (rest) => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
  const chunk = (delta, finish_reason = null) =>
    event({ choices: [{ index: 0, delta, logprobs: null, finish_reason }] });
  chunk.end = (reason) => `${chunk({}, reason)}${event({ choices: [], usage })}data: [DONE]\n\n`;
  return chunk;
}
