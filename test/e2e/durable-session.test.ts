import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startLocalEdge, untilHealthy, type LocalEdge } from '../../scripts/local-edge.ts';
import { freePort } from './edge-server.ts';
import { chooseHeldModel, heldQuestion, release } from './held-answer.ts';
import { heldModelVars } from './held-model.ts';
import { answers, ask, atRest, goHome, openDemo, questions, timeline } from './open-demo.ts';
import { endsWithFile } from '../left-behind/may-leave.ts';

let edge: LocalEdge;
let folder: string;
let port: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'isoloop-e2e-'));
  port = await freePort();
  await start();
});
afterAll(async () => {
  await edge?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  endsWithFile('process');
  edge = startLocalEdge({ port, persistTo: folder, vars: heldModelVars(inject('heldModelUrl')) });
  await untilHealthy(edge);
}

const lastWords = 'top of the page';

/** Reads until the response contains `text`, then disconnects. */
async function readUntil(response: Response, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let seen = '';
  for await (const bytes of response.body!) {
    seen += decoder.decode(bytes, { stream: true });
    if (seen.includes(text)) return seen;
  }
  throw new Error(`The answer ended before "${text}": ${seen}`);
}

/** Posts a question and disconnects when the answer has begun. */
async function leave(id: string, text: string): Promise<void> {
  const messages = [{ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }];
  const response = await fetch(`${edge.url}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages, model: 'edge' }),
  });
  await readUntil(response, 'text-delta');
}

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

async function stored(id: string): Promise<readonly string[]> {
  const response = await fetch(`${edge.url}/api/chat/${id}/messages`);
  return ((await response.json()) as { messages: UIMessage[] }).messages.map(textOf);
}

test('a client that disconnected resumes its answer with AI SDK’s transport', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  await leave(id, story);
  const transport = new DefaultChatTransport<UIMessage>({ api: `${edge.url}/api/chat` });
  const stream = await transport.reconnectToStream({ chatId: id });
  await release(story);
  let last: UIMessage | undefined;
  for await (const read of readUIMessageStream({ stream: stream!, terminateOnError: true }))
    last = read;
  expect(textOf(last!)).toMatch(/^I am the offline[\s\S]*top of the page/);
  await expect.poll(() => transport.reconnectToStream({ chatId: id })).toBeNull();
  expect(await stored(id)).toEqual([story, textOf(last!)]);
});

test('another connection can stop an answer, and the list has the session until the session is deleted', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  await leave(id, story);
  const interrupted = await fetch(`${edge.url}/api/chat/${id}/interrupt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'Stopped from elsewhere.' }),
  });
  expect(await interrupted.json()).toEqual({ interrupted: true });
  await expect.poll(async () => (await stored(id)).at(-1)).toBe('Stopped from elsewhere.');
  // The reason is a message of the user. The assistant's words are the agent's own.
  const answer = (await stored(id)).at(-2);
  expect(answer).toContain('You interrupted me. What now?');
  expect(answer).not.toContain('Stopped from elsewhere.');
  expect(answer).not.toContain(lastWords);
  const chats = async (): Promise<readonly { sessionId: string; title: string }[]> =>
    (
      (await (await fetch(`${edge.url}/api/chats`)).json()) as {
        chats: { sessionId: string; title: string }[];
      }
    ).chats;
  await expect.poll(chats).toContainEqual(expect.objectContaining({ sessionId: id, title: story }));
  expect((await fetch(`${edge.url}/api/chat/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await stored(id)).toEqual([]);
  expect(await chats()).not.toContainEqual(expect.objectContaining({ sessionId: id }));
});

test('after a restart during an answer, the server finishes the answer', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  await leave(id, story);
  expect(await stored(id)).toEqual([story]);
  await edge.stop();
  await start();
  await release(story);
  await expect.poll(async () => (await stored(id)).at(-1)).toContain(lastWords);
  expect(await stored(id)).toHaveLength(2);
});

test('a run survives a disconnect and a restart, a client reads its end, and a completion continues its session', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  const response = await fetch(`${edge.url}/api/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: id, input: story, model: 'edge' }),
  });
  const seen = await readUntil(response, '"reasoning-chunk"');
  await edge.stop();
  await start();
  const place = [...seen.matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
  const watched = await fetch(`${edge.url}/api/chat/${id}/stream?events=only`, {
    headers: { 'last-event-id': place },
  });
  await release(story);
  expect((await watched.text()).split('\n\n').at(-3)).toMatch(
    new RegExp(`"type":"run-end".*${lastWords}`),
  );
  const client = new OpenAI({
    baseURL: `${edge.url}/v1`,
    apiKey: 'unused',
    defaultHeaders: { 'x-isoloop-session': id },
  });
  const { choices } = await client.chat.completions.create({
    model: 'offline',
    messages: [{ role: 'user', content: 'What is 2 + 2?' }],
  });
  expect(choices[0]!.message.content).toContain('4');
  const texts = await stored(id);
  expect([texts[0], texts[2], texts.length]).toEqual([story, 'What is 2 + 2?', 4]);
});

test('a page that reloads during an answer shows the rest of the answer as it streams', async () => {
  const { page, problems } = await openDemo({ url: edge.url });
  await goHome(page, 'At the edge');
  await chooseHeldModel(page, 'At the edge');
  const story = heldQuestion();
  await page.getByLabel('Your message').fill(story);
  await page.keyboard.press('Enter');
  await page.getByText('I am the offline').first().waitFor();
  await page.reload();
  await page.getByText('I am the offline').first().waitFor();
  await release(story);
  await expect.poll(() => answers(page).last().innerText()).toContain(lastWords);
  await timeline(page).getByText('Ended: stop').waitFor();
  await atRest(page);
  expect(await questions(page).allInnerTexts()).toEqual([story]);
  expect(await answers(page).count()).toBe(1);
  await ask(page, 'What is 2 + 2?');
  expect(await answers(page).last().innerText()).toContain('2 + 2 = 4.');
  expect(problems).toEqual([]);
});
