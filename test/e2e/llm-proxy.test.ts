/// <reference path="../provider-server/provided-context.d.ts" />
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { newContext } from './browser.ts';
import { startEdgeServer, type EdgeServer } from './edge-server.ts';
import type { ProxyOptions } from './llm-proxy/agent.worker.ts';
import type { Answer } from './llm-proxy/page.ts';
import { startSite, type Site } from './site.ts';

const modelKey = 'sk-of-the-edge-alone';
const token = 'token-of-ann-0123456789';

let site: Site;
let edge: EdgeServer;
beforeAll(async () => {
  const sources: Record<string, string> = {};
  for (const file of ['page.ts', 'agent.worker.ts'])
    sources[file] = await readFile(`${root}/test/e2e/llm-proxy/${file}`, 'utf8');
  site = await startSite({ name: 'llm-proxy-page', sources, pages: { page: 'page.ts' } });
  const vars = {
    PAGE_ORIGIN: site.origin,
    USER_TOKEN: token,
    MODEL_KEY: modelKey,
    MODEL_SERVER: inject('providerUrl'),
  };
  edge = await startEdgeServer({ config: 'test/e2e/llm-proxy/wrangler.toml', vars });
});
afterAll(async () => {
  await site?.stop();
  await edge?.stop();
});

interface Visit {
  readonly ask: (model: string, more?: Partial<ProxyOptions>) => Promise<Answer>;
  /** Returns all response bodies from the edge and all request headers to it. */
  readonly seen: () => string;
}

async function visit(origin: string = site.origin): Promise<Visit> {
  const context = await newContext();
  const page: Page = await context.newPage();
  const seen: string[] = [];
  context.on('request', (request) => void seen.push(JSON.stringify(request.headers())));
  context.on('response', async (response) => void seen.push(await response.text().catch(() => '')));
  await page.goto(`${origin}/page.html`);
  return {
    ask: (model, more) =>
      page.evaluate(
        ([input, options]) =>
          (globalThis as unknown as { ask(text: string, given: object): Promise<Answer> }).ask(
            input,
            options,
          ),
        ['What is 1 + 2?', { baseURL: `${edge.url}/llm/v1`, token, model, ...more }] as const,
      ),
    seen: () => seen.join(),
  };
}

test('an agent in a worker streams and calls tools through the edge’s model, across origins and without its key', async () => {
  const { ask, seen } = await visit();
  const { text } = await ask('scripted');
  expect(text).toMatch(/^The tools say: sum \d/);
  expect((await ask('deltas/500')).deltas).toBeGreaterThan(100);
  // The model's server echoes its request. The edge must hide its key even in such an answer.
  const echoed = JSON.parse((await ask('echo')).text!) as {
    readonly headers: { readonly authorization: string };
  };
  expect(echoed.headers.authorization).not.toContain(token);
  expect(echoed.headers.authorization).not.toContain(modelKey);
  expect(seen()).toContain(token);
  expect(seen()).not.toContain(modelKey);
});

test('the model proxy refuses requests with error codes', async () => {
  const { ask, seen } = await visit();
  expect(await ask('scripted', { token: 'token-of-nobody-012345' })).toEqual({
    code: 'MODEL_AUTH',
  });
  expect(await ask('not-on-the-list')).toEqual({ code: 'MODEL_REQUEST' });
  expect((await ask('fault/401')).code).toMatch(/^MODEL_/);
  expect(seen()).not.toContain(modelKey);
});

test('the model proxy refuses a page whose origin is not on the list', async () => {
  const { ask } = await visit(site.origin.replace('localhost', '127.0.0.1'));
  expect(await ask('scripted')).toEqual({ code: 'MODEL_UNREACHABLE' });
});
