import { readFile } from 'node:fs/promises';
import { toolResultsOf, type AgentResult, type Msg } from '@isoloop/core';
import type { UIMessage } from '@isoloop/core/stream';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { newContext } from './browser.ts';
import { startEdgeServer, type EdgeServer } from './edge-server.ts';
import type { MovingPage } from './moving/page.ts';
import { startSite, type Site } from './site.ts';

let site: Site;
let edge: EdgeServer;
beforeAll(async () => {
  const sources: Record<string, string> = {};
  for (const file of ['page.ts', 'agent.worker.ts', 'payer.ts'])
    sources[file] = await readFile(`${root}/test/e2e/moving/${file}`, 'utf8');
  [site, edge] = await Promise.all([
    startSite({ name: 'moving-page', sources, pages: { page: 'page.ts' } }),
    startEdgeServer({ config: 'test/e2e/moving/wrangler.toml' }),
  ]);
});
afterAll(async () => {
  await site?.stop();
  await edge?.stop();
});

/** Object that the page defines. Only scripts in the page can use it. */
declare const moving: MovingPage;

async function openTab(): Promise<Page> {
  const context = await newContext();
  const page = await context.newPage();
  await page.goto(`${site.origin}/page.html`);
  await page.waitForFunction(() => 'moving' in globalThis);
  return page;
}

async function at(path: string, body?: unknown, method = 'POST'): Promise<Response> {
  const init = { method, headers: { 'content-type': 'application/json' } };
  const response = await fetch(
    `${edge.url}${path}`,
    body === undefined ? {} : { ...init, body: JSON.stringify(body) },
  );
  expect(response.ok, `${path}: ${response.status}`).toBe(true);
  return response;
}

/** Moves the conversation of a tab to the edge, where its call waits for approval. */
async function toEdge(page: Page, place: 'kv' | 'object', id: string): Promise<void> {
  const asked = await page.evaluate((session) => moving.ask(session, 'Pay 김 42 francs'), id);
  expect(asked).toMatchObject({ reason: 'suspended', pending: [waiting] });
  const { records } = await page.evaluate((session) => moving.exported(session), id);
  await at(`/records/${place}/${id}`, records, 'PUT');
}

/** Moves the conversation from the edge into another session of the tab. */
async function toTab(page: Page, place: 'kv' | 'object', id: string, copy: string): Promise<void> {
  const exported = await page.evaluate((session) => moving.exported(session), id);
  const records = await (await at(`/records/${place}/${id}`)).json();
  await page.evaluate(([given, session]) => moving.imported(given, session), [
    { ...exported, records },
    copy,
  ] as const);
}

async function partsInKv(id: string): Promise<readonly object[]> {
  const response = await at(`/api/chat/${id}/messages`);
  const { messages } = (await response.json()) as { readonly messages: readonly UIMessage[] };
  return messages.flatMap(({ parts }) => parts).filter(({ type }) => type === 'dynamic-tool');
}

const outputs = (messages: readonly Msg[]): readonly unknown[] =>
  messages.flatMap(toolResultsOf).map(({ output }) => output);
const waiting = { toolUseId: 'pay-1', name: 'pay', kind: 'approval' };
const approve = { type: 'approve', toolUseId: 'pay-1' } as const;
const paid = (place: string): string => `{"to":"김","amount":42} paid ${place}`;

test('a call that waits for approval moves from a tab to KV, to a Durable Object and back, and the tab approves it', async () => {
  const page = await openTab();
  await toEdge(page, 'kv', 'trip');
  expect(await partsInKv('trip')).toMatchObject([
    { toolCallId: 'pay-1', state: 'approval-requested', input: { amount: 42 } },
  ]);
  const records: unknown = await (await at('/records/kv/trip')).json();
  await at('/records/object/trip', records, 'PUT');
  await toTab(page, 'object', 'trip', 'trip-back');
  expect(await page.evaluate(() => moving.pending('trip-back'))).toMatchObject([waiting]);
  const decided = await page.evaluate((decision) => moving.decide('trip-back', decision), approve);
  expect(decided.text).toBe(`It says: ${paid('in the tab')}`);
  const messages = await page.evaluate(() => moving.messages('trip-back'));
  expect(outputs(messages)).toEqual([paid('in the tab')]);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
});

test('KV carries out the approval of a call that a tab began, and the tab continues with the result', async () => {
  const page = await openTab();
  await toEdge(page, 'kv', 'kv');
  const run = await at('/api/run', { sessionId: 'kv', decisions: [approve] });
  expect(await run.text()).toContain(JSON.stringify(`It says: ${paid('in KV')}`).slice(1, -1));
  expect(await partsInKv('kv')).toMatchObject([
    { toolCallId: 'pay-1', state: 'output-available', output: paid('in KV') },
  ]);
  await toTab(page, 'kv', 'kv', 'kv-back');
  expect(await page.evaluate(() => moving.pending('kv-back'))).toEqual([]);
  const next = await page.evaluate(() => moving.ask('kv-back', 'How many?'));
  expect(next.text).toBe('1 results');
  expect(outputs(await page.evaluate(() => moving.messages('kv-back')))).toEqual([paid('in KV')]);
});

test('a Durable Object approves a call that a tab began, and the tab continues with the result', async () => {
  const page = await openTab();
  await toEdge(page, 'object', 'object');
  const decided = (await (
    await at('/records/object/object/decide', approve)
  ).json()) as AgentResult;
  expect(decided.text).toBe(`It says: ${paid('in the object')}`);
  await toTab(page, 'object', 'object', 'object-back');
  expect(await page.evaluate(() => moving.pending('object-back'))).toEqual([]);
  const next = await page.evaluate(() => moving.ask('object-back', 'How many?'));
  expect(next.text).toBe('1 results');
  const messages = await page.evaluate(() => moving.messages('object-back'));
  expect(outputs(messages)).toEqual([paid('in the object')]);
});
