// Mock OpenAI-compatible server. A process of its own; SSE bytes are computed once, at start.
//   node server.mjs [port] [static dir]      prints "listening PORT"
// POST /SCENARIO/v1/chat/completions -> the turn is told by how many "role":"tool" the body holds.
// GET  /static/FILE  files for the browser runs (with COOP/COEP, so that timers are fine-grained)
// GET  /stats?reset=1  requests and request bytes since the last reset
import http from 'node:http';
import fs from 'node:fs';
import path from 'node:path';
import { args, callId, MODEL, spec, TOOL, words } from './lib/scenarios.mjs';

const BATCH = Number(process.env.BATCH ?? 16 * 1024);
let head = { id: '', object: 'chat.completion.chunk', created: 1760000000, model: MODEL, system_fingerprint: 'fp_44709d6fcb' };
const ev = (o) => `data: ${JSON.stringify(o)}\n\n`;
const chunk = (delta, finish = null) => ev({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });
const tail = (finish) =>
  chunk({}, finish) +
  ev({
    ...head,
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  }) +
  'data: [DONE]\n\n';

function slice(text) {
  const b = Buffer.from(text);
  const out = [];
  for (let i = 0; i < b.length; i += BATCH) out.push(b.subarray(i, i + BATCH));
  return out;
}
function render(sp, turn) {
  // ids differ per turn, as real ones do (LangGraph drops a message whose id it has seen)
  head = { ...head, id: 'chatcmpl-8fVq2hT1mock000000000000' + String(turn).padStart(4, '0') };
  if (turn >= sp.turns) {
    const parts = [
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...words(sp.answer).map((w) => chunk({ content: w })),
      tail('stop'),
    ];
    return sp.trickle ? parts.map((p) => Buffer.from(p)) : slice(parts.join(''));
  }
  let s = '';
  for (let i = 0; i < sp.calls; i++) {
    const first = { index: i, id: callId(turn, i), type: 'function', function: { name: TOOL.name, arguments: '' } };
    s += chunk(i === 0 ? { role: 'assistant', content: null, tool_calls: [first] } : { tool_calls: [first] });
    const a = args(sp, turn, i);
    const step = Math.ceil(a.length / sp.fragments);
    for (let k = 0; k < a.length; k += step) s += chunk({ tool_calls: [{ index: i, function: { arguments: a.slice(k, k + step) } }] });
  }
  return slice(s + tail('tool_calls'));
}
const cache = new Map();
function responses(name) {
  let r = cache.get(name);
  if (!r) {
    const sp = spec(name);
    r = Array.from({ length: sp.turns + 1 }, (_, t) => render(sp, t));
    r.sp = sp;
    cache.set(name, r);
  }
  return r;
}
for (const n of ['s1', 's1t', 's2', 's3', 's4-10', 's4-25', 's4-50', 's4-100', 's4-200']) responses(n);

const NEEDLE = Buffer.from('"role":"tool"');
function count(buf) {
  let n = 0;
  for (let i = buf.indexOf(NEEDLE); i !== -1; i = buf.indexOf(NEEDLE, i + NEEDLE.length)) n++;
  return n;
}
const stats = { requests: 0, bytes: 0, last: '' };
const types = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.html': 'text/html' };
const cors = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': '*',
  'access-control-allow-methods': '*',
  'cross-origin-resource-policy': 'cross-origin',
};
const staticDir = process.argv[3] && path.resolve(process.argv[3]);
const tick = () => new Promise((r) => setImmediate(r));

const server = http.createServer((req, res) => {
  const url = new URL(req.url, 'http://x');
  if (req.method === 'OPTIONS') return void res.writeHead(204, cors).end();
  if (url.pathname === '/stats') {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stats));
    if (url.searchParams.has('reset')) Object.assign(stats, { requests: 0, bytes: 0, last: '' });
    return;
  }
  if (url.pathname === '/favicon.ico') return void res.writeHead(204).end();
  if (staticDir && url.pathname.startsWith('/static/')) {
    const f = path.join(staticDir, path.normalize(url.pathname.slice(8)));
    return fs.readFile(f, (e, data) => {
      if (e) return void res.writeHead(404).end();
      res
        .writeHead(200, {
          'content-type': types[path.extname(f)] ?? 'application/octet-stream',
          'cross-origin-opener-policy': 'same-origin',
          'cross-origin-embedder-policy': 'require-corp',
          ...cors,
        })
        .end(data);
    });
  }
  const m = /^\/([\w-]+)\/v1\/chat\/completions$/.exec(url.pathname);
  if (!m || req.method !== 'POST') {
    console.error('mock server: no such thing', req.method, req.url);
    return void res.writeHead(404, { 'content-type': 'application/json', ...cors }).end('{"error":{"message":"not found"}}');
  }
  const all = responses(m[1]);
  const chunks = [];
  req.on('data', (c) => chunks.push(c));
  req.on('end', async () => {
    const body = Buffer.concat(chunks);
    stats.requests++;
    stats.bytes += body.length;
    if (process.env.KEEP_LAST) stats.last = body.toString();
    const turn = Math.floor(count(body) / (all.sp.calls || 1));
    const batches = all[Math.min(turn, all.length - 1)];
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache', ...cors });
    if (batches.length === 1) return void res.end(batches[0]);
    for (const b of batches) {
      if (res.destroyed) return;
      if (!res.write(b))
        await new Promise((r) => {
          res.once('drain', r);
          res.once('close', r);
        });
      else await tick();
    }
    res.end();
  });
});
server.keepAliveTimeout = 120_000;
server.requestTimeout = 0;
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log('listening', server.address().port));
