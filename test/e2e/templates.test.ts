/// <reference path="../provider-server/provided-context.d.ts" />
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import OpenAI from 'openai';
import type { Browser, Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { preview } from 'vite';
import { startLocalEdge, untilHealthy } from '../../scripts/local-edge.ts';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { connectBrowser, newContext } from './browser.ts';
import { freePort } from './demo-server.ts';
import { heldQuestion, release } from './held-answer.ts';

const folder = mkdtempSync(`${tmpdir()}/isoloop-templates-`);
const said = 'The tools say:';

let browser: Browser;
beforeAll(async () => {
  const names = ['core', 'web-worker', 'edge', 'create-isoloop'];
  await run(
    root,
    'npm',
    'pack',
    '--silent',
    '--pack-destination',
    folder,
    ...names.map((name) => `./packages/${name}`),
  );
  mkdirSync(`${folder}/create`);
  await run(
    folder,
    'tar',
    '-xzf',
    tarball('create-isoloop'),
    '-C',
    'create',
    '--strip-components=1',
  );
  browser = await connectBrowser();
});
afterAll(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<void> {
  const { ok, output } = await runCommand(command, args, { cwd });
  if (!ok) throw new Error(`${command} ${args.join(' ')}: ${output}`);
}

function tarball(name: string): string {
  return `${folder}/${readdirSync(folder).find((file) => new RegExp(`^(isoloop-)?${name}-\\d.*tgz$`).test(file))}`;
}

/** Creates a project as a user does, installs the packed packages, checks the types and builds. */
async function create(template: string, packages: readonly string[]): Promise<string> {
  await run(folder, 'node', 'create/create.mjs', template, '--template', template);
  const project = `${folder}/${template}`;
  const tarballs = packages.map(tarball);
  await run(project, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs);
  await run(project, 'npm', 'run', 'typecheck');
  await run(project, 'npm', 'run', 'build');
  return project;
}

/** Serves the endpoint of a project with a model of this machine. Returns its token. */
async function serve(
  project: string,
  modelUrl = `${inject('providerUrl')}/scripted/v1`,
): Promise<{ readonly url: string; readonly token: string }> {
  const secrets = readFileSync(`${project}/.dev.vars`, 'utf8').replace(/^MODEL_URL=.*\n/m, '');
  const model = `MODEL_URL="${modelUrl}"\n`;
  writeFileSync(`${project}/.dev.vars`, secrets + model);
  const edge = startLocalEdge({
    port: await freePort(),
    persistTo: mkdtempSync(`${project}/state-`),
    config: `${project}/wrangler.toml`,
  });
  onTestFinished(() => edge.stop());
  await untilHealthy(edge);
  return { url: edge.url, token: /CLIENT_TOKEN="(.*)"/.exec(secrets)![1]! };
}

const ask = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Your message').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
};
const sections = (page: Page) => page.locator('section').allInnerTexts();

test('the template "assistant" answers in a page, shows its tools, and keeps the conversation', async () => {
  const project = await create('assistant', ['core', 'web-worker']);
  const server = await preview({
    root: project,
    configFile: false,
    logLevel: 'error',
    preview: { host: '127.0.0.1', port: 0 },
  });
  onTestFinished(() => server.close());
  const context = await newContext(browser);
  onTestFinished(() => context.close());
  await context.route('http://127.0.0.1:11434/v1/**', (route) =>
    route.continue({ url: `${inject('providerUrl')}/scripted/v1/chat/completions` }),
  );
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on(
    'console',
    (message) => void (message.type() === 'error' && problems.push(message.text())),
  );
  await page.goto(`http://localhost:${new URL(server.resolvedUrls!.local[0]!).port}/`);
  await ask(page, 'What time is it?');
  await expect.poll(async () => (await sections(page))[1]).toContain(said);
  const shown = await sections(page);
  expect(shown[0]).toBe('What time is it?');
  expect(shown[1]).toMatch(/Asia\/Tokyo: \d/);
  await page.reload();
  await expect.poll(() => sections(page)).toEqual(shown);
  expect(problems).toEqual([]);
});

test('the template "endpoint" answers OpenAI’s client, continues its conversation, and refuses others', async () => {
  const project = await create('endpoint', ['core', 'edge']);
  const { url, token } = await serve(project);
  const headers = { 'x-isoloop-session': 'first' };
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, defaultHeaders: headers });
  const messages = [{ role: 'user' as const, content: 'What time is it?' }];
  const { choices } = await client.chat.completions.create({ model: 'default', messages });
  expect(choices[0]?.message.content).toContain(said);
  const history = await fetch(`${url}/api/chat/first/messages`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await history.json()).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant' }],
  });
  const nobody = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 });
  await expect(nobody.models.list()).rejects.toMatchObject({ status: 401 });
});

let both: Promise<string> | undefined;

/** Opens the template `both`, whose project is created once. */
async function openBoth(modelUrl?: string) {
  both ??= create('both', ['core', 'web-worker', 'edge']);
  const { url, token } = await serve(await both, modelUrl);
  const context = await newContext(browser);
  onTestFinished(() => context.close());
  await context.addInitScript((given) => localStorage.setItem('token', given), token);
  const page = await context.newPage();
  return { url, context, page, place: page.getByLabel('Answer in') };
}

test('the template "both" continues one conversation in the tab and at the edge', async () => {
  const { url, context, page, place } = await openBoth();
  const asked: string[] = [];
  context.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto(url);
  const answers = async () => (await sections(page)).filter((text) => text.includes(said)).length;
  await ask(page, 'First, in the tab');
  await expect.poll(answers).toBe(1);
  expect(asked).toContain('/llm/v1/chat/completions');
  expect(asked).not.toContain('/api/chat');
  await place.selectOption('edge');
  await expect.poll(answers).toBe(1);
  await ask(page, 'Second, at the edge');
  await expect.poll(answers).toBe(2);
  expect(asked).toContain('/api/chat');
  await place.selectOption('tab');
  await expect.poll(answers).toBe(2);
  await ask(page, 'Third, in the tab again');
  await expect.poll(answers).toBe(3);
  const questions = (await sections(page)).filter((_text, index) => index % 2 === 0);
  expect(questions).toEqual([
    'First, in the tab',
    'Second, at the edge',
    'Third, in the tab again',
  ]);
  const stranger = await fetch(`${url}/store/keys`, { method: 'POST', body: '[""]' });
  expect(stranger.status).toBe(401);
});

test.each([
  { from: 'tab', to: 'edge' },
  { from: 'edge', to: 'tab' },
])(
  'the template "both" moves from the $from to the $to only when the answer has ended, also after a reload and in another tab',
  async ({ from, to }) => {
    const { url, context, page, place } = await openBoth(`${inject('heldModelUrl')}/v1`);
    await page.goto(url);
    await place.selectOption(from);
    const question = heldQuestion();
    await ask(page, question);
    const shows = async (shown: Page, text: string): Promise<void> => {
      await expect.poll(async () => (await sections(shown)).join('\n')).toContain(text);
    };
    const offered = (shown: Page) => shown.getByLabel('Answer in').isEnabled();
    await shows(page, 'I am the offline');
    expect(await offered(page)).toBe(false);
    expect(await page.getByText('You can move when the answer has ended.').count()).toBe(1);
    const other = await context.newPage();
    await other.goto(url);
    await shows(other, question);
    await expect.poll(() => offered(other)).toBe(false);
    await page.reload();
    await shows(page, 'I am the offline');
    for (const each of [page, other]) {
      expect(await each.getByLabel('Answer in').inputValue()).toBe(from);
      expect(await offered(each)).toBe(false);
    }
    await release(question);
    for (const each of [page, other]) {
      await shows(each, 'top of the page');
      await expect.poll(() => offered(each)).toBe(true);
    }
    await place.selectOption(to);
    await expect.poll(() => other.getByLabel('Answer in').inputValue()).toBe(to);
    for (const each of [page, other]) {
      await shows(each, 'top of the page');
      await expect.poll(() => offered(each)).toBe(true);
      expect(await sections(each)).toEqual([question, expect.stringContaining('I am the offline')]);
    }
  },
);
