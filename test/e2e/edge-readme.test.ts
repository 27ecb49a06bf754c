import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLocalEdge, untilHealthy, type LocalEdge } from '../../scripts/local-edge.ts';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { listenOnLoopback, type LoopbackServer } from '../listen-on-loopback.ts';
import { event } from '../provider-server/event-stream.ts';
import { newContext } from './browser.ts';
import { freePort } from './edge-server.ts';

/**
 * Folder of the project of the README and of the guide about endpoints, with what the guide says to
 * add. The project runs on this machine instead of Cloudflare, with a scripted model.
 */
const folder = `${root}/node_modules/.cache/edge-readme`;
const token = 'a-token-of-ann-long-enough';

let edge: LocalEdge;
let model: LoopbackServer;
beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { 'assets.toml': assets, ...files } = {
    ...filesOf('packages/edge/README.md'),
    ...filesOf('docs/guides/endpoint.md'),
  };
  files['wrangler.toml'] += `\n${assets}`;
  files['worker.ts'] = withOpenAiRoutes(files['worker.ts']!);
  for (const [file, source] of Object.entries(files)) writeFileSync(`${folder}/${file}`, source);
  model = await listenOnLoopback(
    createServer((request, response) => void answer(request, response)),
    0,
  );
  writeFileSync(
    `${folder}/.dev.vars`,
    `OPENAI_API_KEY="sk-test"\nANN_TOKEN="${token}"\nOPENAI_BASE_URL="${model.url}/v1"\n`,
  );
  const { ok, output } = await runCommand('vite', ['build'], { cwd: folder });
  if (!ok) throw new Error(output);
  edge = startLocalEdge({
    port: await freePort(),
    persistTo: `${folder}/state`,
    config: `${folder}/wrangler.toml`,
  });
  await untilHealthy(edge);
});
afterAll(async () => {
  await edge?.stop();
  await model?.close();
  rmSync(folder, { recursive: true, force: true });
});

function filesOf(path: string): Record<string, string> {
  const page = readFileSync(`${root}/${path}`, 'utf8');
  const blocks = page.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, file = '', source = '']) => [file, source]));
}

/** Adds what the guide tells its readers to add for OpenAI's clients. */
function withOpenAiRoutes(worker: string): string {
  const changed = worker.replace('\n  authorize:', '\n  openai: openAiRoutes(),\n  authorize:');
  return `import { openAiRoutes } from '@isoloop/openai-api';\n${changed}`;
}

interface Asked {
  readonly model: string;
  readonly input: readonly {
    readonly type?: string;
    readonly role?: string;
    readonly content?: string;
    readonly output?: string;
  }[];
}

/**
 * Acts as the model. Calls the tool that the question names. If the question asks for a story,
 * sends the first words at once, and the rest when the test calls the function in `stories`.
 */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { model: name, input } = JSON.parse(await text(request)) as Asked;
  const last = input.at(-1)!;
  const send = (type: string, fields: object): void =>
    void response.write(event({ type: `response.${type}`, output_index: 0, ...fields }));
  const say = (delta: string): void => send('output_text.delta', { content_index: 0, delta });
  const call = (tool: string, given: object): void => {
    const item = {
      type: 'function_call',
      call_id: `call_${input.length}`,
      name: tool,
      arguments: JSON.stringify(given),
    };
    send('output_item.added', { item: { ...item, arguments: '' } });
    send('output_item.done', { item });
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  send('created', { response: { id: 'resp_1', model: name, status: 'in_progress' } });
  const asksFor = (word: string): boolean =>
    last.role === 'user' && (last.content ?? '').includes(word);
  if (asksFor('time')) call('now', {});
  else if (asksFor('mail')) call('send_mail', { to: 'bob@example.com', text: '회의는 내일입니다' });
  else say(last.output === undefined ? 'Once upon a time' : `The tool says: ${last.output}`);
  if (asksFor('story')) return void stories.push(() => (say(' there was an end.'), finish()));
  finish();

  function finish(): void {
    send('completed', { response: { id: 'resp_1', model: name, status: 'completed', output: [] } });
    response.end();
  }
}

/** Functions that send the rest of each open story. */
const stories: (() => void)[] = [];

test('the guide’s page: calls a tool, asks for an approval, survives a reload during an answer, stops and regenerates', async () => {
  const page = await (await newContext()).newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on(
    'console',
    (message) => void (message.type() === 'error' && problems.push(message.text())),
  );
  page.on('dialog', (dialog) => dialog.accept(token));
  await page.goto(edge.url);
  await ask(page, 'What time is it?');
  await page.getByText(/^The tool says: 20\d\d-/).waitFor();
  await ask(page, 'Send a mail to Bob');
  await page.getByText('send_mail {"to":"bob@example.com","text":"회의는 내일입니다"}').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.getByText('The tool says: The mail to bob@example.com is sent.').waitFor();

  await ask(page, 'Tell a story');
  await page.getByText('Once upon a time').waitFor();
  await page.reload();
  await page.getByText('Once upon a time').waitFor();
  stories.shift()!();
  await page.getByText('Once upon a time there was an end.').waitFor();
  await page.getByRole('button', { name: 'Again' }).click();
  await page.getByText('Once upon a time', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop', disabled: true }).waitFor();
  await ask(page, 'Send a mail to Bob');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('The tool says: ').nth(2).waitFor();
  expect(await page.locator('section').count()).toBe(8);

  // A message instead of a decision denies the call.
  await ask(page, 'Send a mail to Bob');
  await page.getByRole('button', { name: 'Allow' }).waitFor();
  await ask(page, 'Just say something');
  await page.getByText('Once upon a time', { exact: true }).nth(1).waitFor();
  await expect.poll(() => page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
  expect(problems).toEqual([]);
});

test('the guide’s page: an answer that ends during a reload is shown once', async () => {
  const page = await (await newContext()).newPage();
  page.on('dialog', (dialog) => dialog.accept(token));
  await page.goto(edge.url);
  await ask(page, 'Tell a story');
  await page.getByText('Once upon a time').waitFor();
  // The page reads the history in the middle of the answer, and asks for its stream after the end.
  await page.route(
    '**/stream',
    async (route) => {
      stories.pop()!();
      const stream = route.request();
      const running = async (): Promise<number> =>
        (await fetch(stream.url(), { headers: stream.headers() })).status;
      await expect.poll(running).toBe(204);
      await route.continue();
    },
    { times: 1 },
  );
  await page.reload();
  await page.getByText('Once upon a time there was an end.').waitFor();
  expect(await page.locator('section').count()).toBe(2);
});

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel('Your message').fill(question);
  await page.getByRole('button', { name: 'Send' }).click();
}

test('the guide’s client: OpenAI’s client calls the endpoint with the token as its key', async () => {
  // Node runs no TypeScript below `node_modules`, and the program has no types.
  const file = `${folder}/ask-agent.mjs`;
  const source = readFileSync(`${folder}/ask-agent.ts`, 'utf8');
  writeFileSync(file, source.replace('http://localhost:8787', edge.url));
  const { ok, output } = await runCommand('node', [`--env-file=${folder}/.dev.vars`, file]);
  expect({ ok, output }).toEqual({
    ok: true,
    output: expect.stringMatching(/^The tool says: 20\d\d-/),
  });
});

test('the project of the README and the guide: wrangler can deploy it', async () => {
  const { ok, output } = await runCommand('wrangler', [
    'deploy',
    '--dry-run',
    '--config',
    `${folder}/wrangler.toml`,
  ]);
  expect(ok, output).toBe(true);
  // The bundle must not need Node's modules, and wrangler must not warn.
  expect(output).not.toMatch(/node:|WARNING/);
  for (const binding of ['CHAT_SESSION', 'RATE_LIMITER', 'OPENAI_BASE_URL'])
    expect(output).toContain(`env.${binding}`);
});
