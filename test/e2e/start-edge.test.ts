/// <reference path="../provider-server/provided-context.d.ts" />
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { startLocalEdge, untilHealthy, type LocalEdge } from '../../scripts/local-edge.ts';
import { root } from '../../scripts/root.ts';
import { freePort } from './edge-server.ts';

/** Folder of the endpoint of `docs/start.md`, with its files. */
const folder = `${root}/node_modules/.cache/start-edge`;
const token = 'a-client-token-long-enough';

let edge: LocalEdge;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const page = readFileSync(`${root}/docs/start.md`, 'utf8');
  const source = /^```ts edge\.ts\n([\s\S]*?)^```$/m.exec(page)![1]!;
  const config = /^```toml wrangler\.toml\n([\s\S]*?)^```$/m.exec(page)![1]!;
  // The model is on this machine. The page names the import and the option for OpenAI's clients.
  const model = `baseURL: '${inject('providerUrl')}/scripted/v1', apiKey`;
  const withOpenAi = source.replace('  authorize:', '  openai: openAiRoutes(),\n  authorize:');
  writeFileSync(
    `${folder}/edge.ts`,
    `import { openAiRoutes } from '@isoloop/openai-api';\n${withOpenAi.replace('apiKey', model)}`,
  );
  writeFileSync(`${folder}/wrangler.toml`, config);
  writeFileSync(`${folder}/.dev.vars`, `OPENAI_API_KEY="sk-test"\nCLIENT_TOKEN="${token}"\n`);
  edge = startLocalEdge({
    port: await freePort(),
    persistTo: `${folder}/state`,
    config: `${folder}/wrangler.toml`,
  });
  await untilHealthy(edge);
});
afterAll(async () => {
  await edge?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Words that the model of the provider server answers without a script. */
const answer = 'There are no tools to call.';

test('the endpoint of the first steps answers an OpenAI client with the model that the page names', async () => {
  const client = new OpenAI({ baseURL: `${edge.url}/v1`, apiKey: token, maxRetries: 0 });
  const model = 'gpt-5-mini';
  const messages = [{ role: 'user', content: 'Hi' }] as const;
  const { choices } = await client.chat.completions.create({ model, messages: [...messages] });
  expect(choices[0]?.message.content).toBe(answer);
  expect((await client.responses.create({ model, input: 'Hi' })).output_text).toBe(answer);
  const { data } = await client.models.list();
  expect(data.map(({ id }) => id)).toEqual([model]);
  const nobody = new OpenAI({ baseURL: `${edge.url}/v1`, apiKey: 'wrong', maxRetries: 0 });
  await expect(nobody.models.list()).rejects.toMatchObject({ status: 401 });
});

test('the endpoint of the first steps answers AI SDK’s chat transport', async () => {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${edge.url}/api/chat`,
    headers: { authorization: `Bearer ${token}` },
  });
  const stream = await transport.sendMessages({
    chatId: crypto.randomUUID(),
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
  });
  let last: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) last = message;
  const said = last?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  expect(said).toBe(answer);
});
