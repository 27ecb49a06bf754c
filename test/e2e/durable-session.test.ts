import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startLocalEdge, untilHealthy, type LocalEdge } from '../../scripts/local-edge.ts';
import { freePort } from './edge-server.ts';
import { heldQuestion, release } from './held-answer.ts';
import { heldModelVars } from './held-model.ts';
import { handToFile } from '../left-behind/may-leave.ts';

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
  handToFile('process');
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
async function leave(url: string, id: string, text: string): Promise<void> {
  const messages = [{ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text }] }];
  const response = await fetch(`${url}/api/chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages, model: 'edge' }),
  });
  await readUntil(response, 'text-delta');
}

const textOf = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

async function stored(url: string, id: string): Promise<readonly string[]> {
  const response = await fetch(`${url}/api/chat/${id}/messages`);
  return ((await response.json()) as { messages: UIMessage[] }).messages.map(textOf);
}

const demo = inject('demoUrl');

test('a client that disconnected resumes its answer with AI SDK’s transport', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  await leave(demo, id, story);
  const transport = new DefaultChatTransport<UIMessage>({ api: `${demo}/api/chat` });
  const stream = await transport.reconnectToStream({ chatId: id });
  await release(story);
  let last: UIMessage | undefined;
  for await (const read of readUIMessageStream({ stream: stream!, terminateOnError: true }))
    last = read;
  expect(textOf(last!)).toMatch(/^I am the offline[\s\S]*top of the page/);
  await expect.poll(() => transport.reconnectToStream({ chatId: id })).toBeNull();
  expect(await stored(demo, id)).toEqual([story, textOf(last!)]);
});

test('another connection can stop an answer, and the list has the session until the session is deleted', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  await leave(demo, id, story);
  const interrupted = await fetch(`${demo}/api/chat/${id}/interrupt`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'Stopped from elsewhere.' }),
  });
  expect(await interrupted.json()).toEqual({ interrupted: true });
  await expect.poll(async () => (await stored(demo, id)).at(-1)).toBe('Stopped from elsewhere.');
  // The reason is a message of the user. The assistant's words are the agent's own.
  const answer = (await stored(demo, id)).at(-2);
  expect(answer).toContain('You interrupted me. What now?');
  expect(answer).not.toContain('Stopped from elsewhere.');
  expect(answer).not.toContain(lastWords);
  const chats = async (): Promise<readonly { sessionId: string; title: string }[]> =>
    (
      (await (await fetch(`${demo}/api/chats`)).json()) as {
        chats: { sessionId: string; title: string }[];
      }
    ).chats;
  await expect.poll(chats).toContainEqual(expect.objectContaining({ sessionId: id, title: story }));
  expect((await fetch(`${demo}/api/chat/${id}`, { method: 'DELETE' })).status).toBe(204);
  expect(await stored(demo, id)).toEqual([]);
  expect(await chats()).not.toContainEqual(expect.objectContaining({ sessionId: id }));
});

test('answers and runs survive a disconnect and a restart, a client reads the end, and a completion continues the session', async () => {
  const id = crypto.randomUUID();
  const story = heldQuestion();
  const response = await fetch(`${edge.url}/api/run`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ sessionId: id, input: story, model: 'edge' }),
  });
  const seen = await readUntil(response, '"reasoning-chunk"');
  const chat = crypto.randomUUID();
  const other = heldQuestion();
  await leave(edge.url, chat, other);
  expect(await stored(edge.url, chat)).toEqual([other]);
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
  // No client reads the answer of the chat, and the server finishes it all the same.
  await release(other);
  await expect.poll(async () => (await stored(edge.url, chat)).at(-1)).toContain(lastWords);
  expect(await stored(edge.url, chat)).toHaveLength(2);
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
  const texts = await stored(edge.url, id);
  expect([texts[0], texts[2], texts.length]).toEqual([story, 'What is 2 + 2?', 4]);
});
