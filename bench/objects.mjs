// `npm run bench -- objects [--write]`: an object that fills in on a page. Compares
// `useAgentObject` and our endpoint with AI SDK's `useObject`, `streamText` and `Output.object`:
// the bytes of the page's code and of the answer. The objects are those of the recorded streams.
import { readdirSync, readFileSync } from 'node:fs';
import { createOpenAI } from '@ai-sdk/openai';
import {
  createTextStreamResponse,
  createUIMessageStreamResponse,
  Output,
  streamText,
  toTextStream,
  toUIMessageStream,
} from 'ai';
import * as z from 'zod';
import { objectMediaType, structured } from '../packages/core/dist/output/index.js';
import { MemoryStore, ReActAgent } from '../packages/core/dist/index.js';
import { openai } from '../packages/core/dist/model/openai/index.js';
import { createAgentHandler } from '../packages/edge/dist/index.js';
import { storeSessions } from '../packages/edge/dist/store/index.js';
import { pageSize } from './lib/page-size.mjs';
import { writeSections } from './lib/results-file.mjs';

const streams = `${import.meta.dirname}/../test/fixtures/provider-streams`;
const schema = z.looseObject({});

const pages = {
  'isoloop, endpoint': `
    export { agentEndpoint } from '@isoloop/react';
    export { useAgentObject } from '@isoloop/react/object';`,
  'isoloop, worker': `export { useAgentObject } from '@isoloop/react/object';`,
  'AI SDK': `export { useObject } from '@ai-sdk/react';`,
};

export async function benchObjects({ write }) {
  const sizes = [];
  for (const [name, source] of Object.entries(pages))
    sizes.push(`| ${name} | ${kilobytes(await pageSize(source))} |`);
  const rows = [];
  for (const [name, pieces] of recordedObjects()) {
    const length = new TextEncoder().encode(pieces.join('')).length;
    const cells = [];
    for (const answer of Object.values(answers)) cells.push(await bytesOf(await answer(pieces)));
    rows.push(`| ${[name, length, pieces.length, ...cells].join(' | ')} |`);
  }
  const body = [
    '| page’s code beside React, gzip | kB |\n| :-- | --: |',
    ...sizes,
    '',
    `| bytes of the answer | object | network reads | ${Object.keys(answers).join(' | ')} |`,
    `| :-- | --: | --: |${' --: |'.repeat(Object.keys(answers).length)}`,
    ...rows,
  ].join('\n');
  console.log(body);
  if (write) writeSections([{ heading: 'objects that fill in', body }]);
}

const answers = {
  'isoloop, JSON text': (pieces) => ours(textEvents(pieces), 'prompt'),
  'isoloop, output tool': (pieces) => ours(toolEvents(pieces), 'tool'),
  'AI SDK, UI message stream': (pieces) => {
    const { stream } = theirs(pieces);
    return createUIMessageStreamResponse({ stream: toUIMessageStream({ stream }) });
  },
  'AI SDK, text stream': (pieces) => {
    const { stream } = theirs(pieces);
    return createTextStreamResponse({ stream: toTextStream({ stream }) });
  },
};

function ours(events, mode) {
  const model = openai({
    model: 'm',
    baseURL: 'https://host/v1',
    apiKey: 'k',
    fetch: fetchOf(events),
  });
  const handler = createAgentHandler({
    store: storeSessions(new MemoryStore()),
    authorize: () => ({ user: 'u' }),
    agent: ({ memory, sessionId }) =>
      new ReActAgent({
        name: 'a',
        model,
        memory,
        sessionId,
        use: [...structured(schema, { mode })],
      }),
  });
  const message = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'go' }] };
  const body = JSON.stringify({ id: 's', messages: [message] });
  const headers = { 'content-type': 'application/json', accept: objectMediaType };
  return handler.fetch(new Request('https://host/api/chat', { method: 'POST', headers, body }));
}

function theirs(pieces) {
  const provider = createOpenAI({
    baseURL: 'https://host/v1',
    apiKey: 'k',
    fetch: fetchOf(textEvents(pieces)),
  });
  return streamText({ model: provider.chat('m'), prompt: 'go', output: Output.object({ schema }) });
}

async function bytesOf(response) {
  const { length } = new Uint8Array(await response.arrayBuffer());
  if (!response.ok) throw new Error(`The endpoint answered with ${response.status}.`);
  return length;
}

/** Returns the arguments of the tool calls in the recorded streams, in their pieces. */
function recordedObjects() {
  return readdirSync(streams).flatMap((name) => {
    const calls = new Map();
    const text = readFileSync(`${streams}/${name}`, 'utf8');
    for (const [, json] of text.matchAll(/^(?:data: ?)?(\{.*\})$/gm))
      for (const { delta } of JSON.parse(json).choices ?? [])
        for (const { index, function: called } of delta?.tool_calls ?? [])
          if (called?.arguments) calls.set(index, [...(calls.get(index) ?? []), called.arguments]);
    return [...calls.values()].map((pieces) => [name.replace(/\..*$/, ''), pieces]);
  });
}

function textEvents(pieces) {
  return eventsOf(
    pieces.map((content) => ({ content })),
    'stop',
  );
}

function toolEvents(pieces) {
  const call = { index: 0, id: 'c', type: 'function' };
  const begun = { ...call, function: { name: 'generate_response', arguments: '' } };
  const deltas = pieces.map((piece) => ({
    tool_calls: [{ index: 0, function: { arguments: piece } }],
  }));
  return eventsOf([{ tool_calls: [begun] }, ...deltas], 'tool_calls');
}

function eventsOf(deltas, reason) {
  const chunk = (delta, finish = null) =>
    `data: ${JSON.stringify({ id: 'r', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  return [...deltas.map((delta) => chunk(delta)), chunk({}, reason), 'data: [DONE]\n\n'];
}

/** Returns a `fetch` whose answer has one network read for each event. */
function fetchOf(events) {
  return async () => {
    const left = [...events];
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setImmediate(resolve));
        const event = left.shift();
        if (event === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(event));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  };
}

function kilobytes(bytes) {
  return (bytes / 1000).toFixed(1);
}
