/// <reference path="../provided-context.d.ts" />
import { readFileSync } from 'node:fs';
import { parseSync } from 'vite';
import { expect, inject, test, vi } from 'vitest';
import { MemoryStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import { retry } from '@isoloop/core/resilience';
import { metrics } from '@isoloop/core/observe';
import { openai } from '@isoloop/core/openai';
import { httpProviders, type HttpProvider } from '../support/providers.ts';
import { findFiles } from '../../scripts/find-files.ts';
import { root } from '../../scripts/root.ts';

// The docs say that the library sends data to nobody: it calls only what the user's code names.

const allFiles = findFiles('packages/{core,web-worker,edge}/dist/**/*.js');

/**
 * The addresses in the code of the packages, and why each is there. The default addresses of models
 * come from the table of providers.
 */
const known: Readonly<Record<string, string>> = {
  'https://session/': 'to a Durable Object of the same Worker',
  'https://workers-ai.binding/v1': 'a name for the binding of Workers AI',
  'https://host/v1': 'in the text of an error',
  'https://example.com': 'in the text of an error',
};

test('the packages know no address but the default servers of models', async () => {
  expect(allFiles.length).toBeGreaterThan(100);
  const found = new Set(allFiles.flatMap((file) => textsIn(file).flatMap(addressesIn)));
  const defaults = new Set(await Promise.all(httpProviders.map(defaultAddress)));
  expect(defaults).toContain('https://api.openai.com/v1');
  expect([...found].toSorted()).toEqual([...defaults, ...Object.keys(known)].toSorted());
});

/** Returns the address of a provider's own server. */
async function defaultAddress({ model, path }: HttpProvider): Promise<string> {
  const urls: string[] = [];
  const fetch = async (url: string): Promise<Response> => {
    urls.push(url);
    return new Response('', { status: 500 });
  };
  const agent = new ReActAgent({ name: 'a', model: model({ model: 'm', apiKey: 'key', fetch }) });
  await agent.call('Hi', { throwOnError: false });
  return urls[0]!.slice(0, -path.length);
}

test('the packages open no connection but with fetch', () => {
  const openers = /\b(?:sendBeacon|XMLHttpRequest|WebSocket|EventSource|WebTransport)\b/;
  const names = allFiles.flatMap((file) =>
    identifiersIn(file)
      .filter((name) => openers.test(name))
      .map((name) => `${file}: ${name}`),
  );
  expect(names).toEqual([]);
});

test('a run with tools, memory, retries and metrics sends requests to its model only', async () => {
  const asked: string[] = [];
  const real = globalThis.fetch;
  vi.stubGlobal('fetch', (...given: Parameters<typeof fetch>) => {
    asked.push(new Request(...given).url);
    return real(...given);
  });
  const baseURL = `${inject('providerUrl')}/deltas/3/v1`;
  const agent = new ReActAgent({
    name: 'assistant',
    model: openai({ baseURL, model: 'test-model', apiKey: 'key' }),
    tools: [tool({ name: 'now', description: 'The time', input: {}, execute: () => 12 })],
    memory: new SessionMemory(new MemoryStore(), 'notes'),
    use: [retry(), metrics({ tokenUsage: () => {} })],
  });
  await agent.call('What time is it?');
  expect(asked).toEqual([`${baseURL}/chat/completions`]);
});

type Node = Readonly<Record<string, unknown>>;

/** Returns the nodes of a file's syntax tree. Comments are none. */
function nodesIn(file: string): readonly Node[] {
  const nodes: Node[] = [];
  const waiting: unknown[] = [parseSync(file, readFileSync(`${root}/${file}`, 'utf8')).program];
  for (const value of waiting) {
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) nodes.push(value as Node);
    waiting.push(...Object.values(value));
  }
  return nodes;
}

function textsIn(file: string): readonly string[] {
  return nodesIn(file).flatMap(({ type, value }) => {
    if (type === 'Literal') return typeof value === 'string' ? [value] : [];
    return type === 'TemplateElement' ? [(value as { readonly raw: string }).raw] : [];
  });
}

function identifiersIn(file: string): readonly string[] {
  return nodesIn(file).flatMap(({ type, name }) => (type === 'Identifier' ? [String(name)] : []));
}

function addressesIn(text: string): readonly string[] {
  return [...text.matchAll(/\b(?:https?|wss?):\/\/[\w.:/-]*\w\/?/g)].map(([address]) => address);
}
