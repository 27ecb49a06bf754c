/// <reference path="../provider-server/provided-context.d.ts" />
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import OpenAI from 'openai';
import type { Page } from 'playwright';
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { preview } from 'vite';
import { startLocalEdge, untilHealthy } from '../../scripts/local-edge.ts';
import { root } from '../../scripts/root.ts';
import { runCommand } from '../../scripts/run-command.ts';
import { collectProblems, newContext } from './browser.ts';
import { freePort } from './edge-server.ts';
import { heldQuestion, release } from './held-answer.ts';

const folder = mkdtempSync(`${tmpdir()}/isoloop-templates-`);
const said = 'The tools say:';

beforeAll(async () => {
  const names = ['core', 'react', 'web-worker', 'edge', 'openai-api', 'create-isoloop'];
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
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command as a user does, without the test runner's `NODE_ENV`. Returns its output. */
async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const { ok, output } = await runCommand(command, args, { cwd, env: { NODE_ENV: '' } });
  if (!ok) throw new Error(`${command} ${args.join(' ')}: ${output}`);
  return output;
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
  // Vite and Rolldown mark warnings with (!) or a code such as [MODULE_LEVEL_DIRECTIVE].
  expect(await run(project, 'npm', 'run', 'build')).not.toMatch(/warn|\(!\)|\[[A-Z]+_[A-Z_]+\]/);
  return project;
}

/**
 * Serves the endpoint of a project with a model of this machine. Without `modelUrl`, the endpoint
 * has no key. Returns its token.
 */
async function serve(
  project: string,
  modelUrl?: string,
): Promise<{ readonly url: string; readonly token: string }> {
  const secrets = readFileSync(`${project}/.dev.vars`, 'utf8')
    .replace(/^MODEL_URL=.*\n/m, '')
    .replace(/(?<=^OPENAI_API_KEY=).*$/m, modelUrl === undefined ? '""' : '"sk-test"');
  const model = modelUrl === undefined ? '' : `MODEL_URL="${modelUrl}"\n`;
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
/** The texts of the messages, without the button below a question. */
const sections = async (page: Page): Promise<string[]> => {
  const texts = await page.locator('section').allInnerTexts();
  return texts.map((text) => text.replace(/\s+Edit$/, ''));
};
const shows = async (page: Page, text: string): Promise<void> => {
  await expect.poll(async () => (await sections(page)).join('\n')).toContain(text);
};
const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name }).click();
const alerts = (page: Page): Promise<string[]> => page.getByRole('alert').allInnerTexts();
const move = async (page: Page, place: 'edge' | 'tab'): Promise<void> => {
  await page.getByLabel('Answer in').selectOption(place);
  await isReady(page);
};
const isReady = async (page: Page): Promise<void> => {
  await expect.poll(() => page.getByRole('status').innerText()).toBe('');
};
const scriptedUrl = `${inject('providerUrl')}/scripted/v1`;

let assistant: Promise<string> | undefined;

/** Opens the template `assistant`, whose project is created once and built with `settings`. */
async function openAssistant(settings = '') {
  assistant ??= create('assistant', ['core', 'react', 'web-worker']);
  const project = await assistant;
  if (settings) {
    writeFileSync(`${project}/.env.local`, settings);
    await run(project, 'npm', 'run', 'build');
  }
  const server = await preview({
    root: project,
    configFile: false,
    logLevel: 'error',
    preview: { host: '127.0.0.1', port: 0 },
  });
  onTestFinished(() => server.close());
  const context = await newContext();
  const page = await context.newPage();
  const problems = collectProblems(page);
  await page.goto(`http://localhost:${new URL(server.resolvedUrls!.local[0]!).port}/`);
  await isReady(page);
  return { page, context, problems };
}

test('the template "assistant" has a stand-in without a model, and shows how each tool call ends', async () => {
  const { page, problems } = await openAssistant();
  await ask(page, 'What time is it?');
  await shows(page, 'This is a scripted stand-in');
  await shows(page, 'put VITE_MODEL=qwen3 into the file .env.local');
  expect((await sections(page))[1]).toMatch(/^time_in .*Asia\/Tokyo: \d/);
  await ask(page, 'Draw lots');
  await shows(page, 'waits for your approval.');
  await press(page, 'Approve');
  await shows(page, '{"drawn":"');
  await ask(page, 'Draw lots again');
  await press(page, 'Deny');
  await shows(page, 'was denied.');
  await ask(page, 'Please fail');
  await shows(page, 'failed. Error: The arguments of "time_in" do not fit its schema');
  expect((await sections(page)).join('\n')).not.toMatch(/is running|waits for/);
  await isReady(page);
  const shown = await sections(page);
  await page.reload();
  await expect.poll(() => sections(page)).toEqual(shown);
  expect(problems).toEqual([]);
});

test('the template "assistant" begins new chats, lists all, and shows the same one after a reload', async () => {
  const { page } = await openAssistant();
  const chats = () => page.getByRole('navigation').getByRole('link').allInnerTexts();
  const openChat = (name: string) => page.getByRole('link', { name }).click();
  await ask(page, 'One');
  await shows(page, 'scripted stand-in');
  await openChat('New conversation');
  await expect.poll(() => sections(page)).toEqual([]);
  await isReady(page);
  await ask(page, 'Two');
  await shows(page, 'scripted stand-in');
  await expect.poll(chats).toEqual(['New conversation', 'Two', 'One']);
  await page.reload();
  await shows(page, 'Two');
  await openChat('One');
  await shows(page, 'One');
  expect((await sections(page)).join('\n')).not.toContain('Two');
  await press(page, 'Delete this one');
  await expect.poll(chats).toEqual(['New conversation', 'Two']);
  await expect.poll(() => sections(page)).toEqual([]);
});

test('the template "assistant" keeps the newest message in view, and edits a question', async () => {
  const { page } = await openAssistant();
  await page.setViewportSize({ width: 800, height: 400 });
  const isAtEnd = () =>
    page.evaluate(() => scrollY + innerHeight >= document.body.scrollHeight - 2);
  for (const text of ['One', 'Two', 'Three']) {
    await ask(page, text);
    await isReady(page);
  }
  await expect.poll(isAtEnd).toBe(true);
  await page.evaluate(() => scrollTo(0, 0));
  await page.getByRole('button', { name: 'Edit' }).nth(1).click();
  expect(await page.getByLabel('Your message').inputValue()).toBe('Two');
  await ask(page, 'שתיים');
  await isReady(page);
  const questions = page.locator('section.user p');
  expect(await questions.allInnerTexts()).toEqual(['One', 'שתיים']);
  const direction = (element: Element) => getComputedStyle(element).direction;
  expect(await questions.last().evaluate(direction)).toBe('rtl');
});

test('the template "assistant" shows messages that wait for an answer, and takes one back', async () => {
  const { page } = await openAssistant(
    `VITE_MODEL=test-model\nVITE_MODEL_URL=${inject('heldModelUrl')}/v1\n`,
  );
  const question = heldQuestion();
  await ask(page, question);
  await shows(page, 'I am the offline');
  await ask(page, 'Next');
  await ask(page, 'Not this');
  const waiting = page.getByRole('list', { name: 'Messages that wait' }).getByRole('listitem');
  await expect
    .poll(() => waiting.allInnerTexts())
    .toEqual([expect.stringContaining('Next'), expect.stringContaining('Not this')]);
  await waiting.last().getByRole('button', { name: 'Withdraw' }).click();
  await expect.poll(() => waiting.count()).toBe(1);
  await release(question);
  await expect.poll(() => waiting.count()).toBe(0);
  await isReady(page);
  const questions = page.locator('section.user p');
  expect(await questions.allInnerTexts()).toEqual([question, 'Next']);
});

test('the template "assistant" asks the model in .env.local, shows errors, drops a stopped call without arguments, and tries again', async () => {
  const { page, context } = await openAssistant(
    `VITE_MODEL=scripted\nVITE_MODEL_URL=${scriptedUrl}\n`,
  );
  const model = `${scriptedUrl}/chat/completions`;
  const fault = (name: string) => `${inject('providerUrl')}/fault/${name}/v1/chat/completions`;
  await context.route(model, (route) => route.continue({ url: fault('401') }));
  await ask(page, 'What time is it?');
  await expect.poll(() => alerts(page)).toEqual([expect.stringContaining('HTTP 401')]);
  await page.reload();
  await expect.poll(() => alerts(page)).toEqual([expect.stringContaining('has no answer')]);
  await context.unroute(model);
  await press(page, 'Try again');
  await press(page, 'Approve');
  await shows(page, said);
  expect(await alerts(page)).toEqual([]);
  const [question, answer] = await sections(page);
  expect(question).toBe('What time is it?');
  expect(answer).toMatch(/Asia\/Tokyo: \d/);
  await context.route(model, (route) => route.continue({ url: fault('hang-call') }));
  await ask(page, 'And now?');
  await shows(page, 'time_in … is running…');
  await press(page, 'Stop');
  await isReady(page);
  // The arguments were not whole, so there is no call.
  expect((await sections(page)).join('\n')).not.toContain('time_in …');
});

let endpoint: Promise<string> | undefined;

test('the template "endpoint" has a stand-in without a key, runs approved calls, and refuses others', async () => {
  endpoint ??= create('endpoint', ['core', 'edge', 'openai-api']);
  const { url, token } = await serve(await endpoint);
  const authorization = { authorization: `Bearer ${token}` };
  const headers = { 'x-isoloop-session': 'first' };
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, defaultHeaders: headers });
  const messages = [{ role: 'user' as const, content: 'What time is it?' }];
  const { choices } = await client.chat.completions.create({ model: 'default', messages });
  expect(choices[0]?.message.content).toMatch(
    /Asia\/Tokyo.* stand-in.* into the file \.dev\.vars/s,
  );
  const history = await fetch(`${url}/api/chat/first/messages`, { headers: authorization });
  expect(await history.json()).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant' }],
  });
  const runAgent = async (body: object): Promise<string> => {
    const content = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers: { ...authorization, ...content } };
    const response = await fetch(`${url}/api/run`, { ...init, body: JSON.stringify(body) });
    return response.text();
  };
  const asked = await runAgent({ sessionId: 'second', input: 'Draw lots: Ann, Bob or Cem' });
  const toolUseId = /"pending":\[\{"toolUseId":"([^"]+)"/.exec(asked)![1]!;
  const decisions = [{ type: 'approve', toolUseId }];
  expect(await runAgent({ sessionId: 'second', decisions })).toContain('\\"drawn\\"');
  const nobody = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'wrong', maxRetries: 0 });
  await expect(nobody.models.list()).rejects.toMatchObject({ status: 401 });
});

test('the template "endpoint" asks the model if it has a key, and says if the key is refused', async () => {
  endpoint ??= create('endpoint', ['core', 'edge', 'openai-api']);
  const { url, token } = await serve(await endpoint, `${inject('heldModelUrl')}/v1`);
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: token, maxRetries: 0 });
  const complete = (content: string) =>
    client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content }] });
  const { choices } = await complete('Hello');
  expect(choices[0]?.message.content).toContain('I am the offline model');
  await expect(complete('Who are you?')).rejects.toMatchObject({ code: 'MODEL_AUTH' });
});

let both: Promise<string> | undefined;

/** Opens the template `both`, whose project is created once. */
async function openBoth(modelUrl?: string) {
  both ??= create('both', ['core', 'react', 'web-worker', 'edge']);
  const { url, token } = await serve(await both, modelUrl);
  const context = await newContext();
  const page = await context.newPage();
  await page.goto(url);
  return { url, token, context, page, place: page.getByLabel('Answer in') };
}

const enter = async (page: Page, token: string): Promise<void> => {
  await page.getByLabel('Your token').fill(token);
  await press(page, 'Enter');
};

test('the template "both" asks for the token until it is right, and for another one later', async () => {
  const { token, page } = await openBoth();
  for (const wrong of ['first mistake', 'second mistake']) {
    await enter(page, wrong);
    await expect.poll(() => alerts(page)).toEqual([expect.stringContaining('.dev.vars')]);
    await page.reload();
    expect(await alerts(page)).toEqual([]);
  }
  await enter(page, token);
  await isReady(page);
  await page.reload();
  await isReady(page);
  await page.evaluate(() => localStorage.setItem('token', 'no longer right'));
  await page.reload();
  await expect.poll(() => alerts(page)).toEqual([expect.stringContaining('The token is wrong.')]);
  await enter(page, token);
  await press(page, 'Other token');
  await enter(page, token);
  await isReady(page);
});

test('the template "both" has a stand-in in both places without a key, and decides a call of one place in the other', async () => {
  const { token, page } = await openBoth();
  await enter(page, token);
  await ask(page, 'What time is it?');
  await shows(page, 'Put your key into the file .dev.vars');
  await isReady(page);
  await ask(page, 'Draw lots');
  await shows(page, 'waits for your approval.');
  await move(page, 'edge');
  await press(page, 'Approve');
  await shows(page, '{"drawn":"');
  await isReady(page);
  await ask(page, 'Draw lots again');
  await shows(page, 'waits for your approval.');
  await move(page, 'tab');
  await press(page, 'Deny');
  await shows(page, 'was denied.');
  await isReady(page);
  await page.getByRole('link', { name: 'New conversation' }).click();
  await expect.poll(() => sections(page)).toEqual([]);
  await ask(page, 'Please fail');
  await shows(page, 'failed. Error: The arguments');
  const chats = () => page.getByRole('navigation').getByRole('link').allInnerTexts();
  await expect.poll(chats).toEqual(['New conversation', 'Please fail', 'What time is it?']);
});

test('the template "both" says where the key is if the model refuses it, in both places', async () => {
  const { token, page } = await openBoth(`${inject('heldModelUrl')}/v1`);
  await enter(page, token);
  for (const each of ['tab', 'edge'] as const) {
    await move(page, each);
    await ask(page, 'Who are you?');
    const refused = /refused this endpoint's key.*\.dev\.vars/;
    await expect.poll(() => alerts(page)).toEqual([expect.stringMatching(refused)]);
  }
});

test('the template "both" continues one conversation in the tab and at the edge', async () => {
  const { url, token, context, page, place } = await openBoth(scriptedUrl);
  const asked: string[] = [];
  context.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await enter(page, token);
  const answers = async () => (await sections(page)).filter((text) => text.includes(said)).length;
  const askAndApprove = async (text: string): Promise<void> => {
    await ask(page, text);
    await press(page, 'Approve');
  };
  await askAndApprove('First, in the tab');
  await expect.poll(answers).toBe(1);
  expect(asked).toContain('/llm/v1/chat/completions');
  expect(asked).not.toContain('/api/chat');
  await place.selectOption('edge');
  await expect.poll(answers).toBe(1);
  await askAndApprove('Second, at the edge');
  await expect.poll(answers).toBe(2);
  expect(asked).toContain('/api/chat');
  await place.selectOption('tab');
  await expect.poll(answers).toBe(2);
  await askAndApprove('Third, in the tab again');
  await expect.poll(answers).toBe(3);
  const questions = (await sections(page)).filter((_text, index) => index % 2 === 0);
  expect(questions).toEqual([
    'First, in the tab',
    'Second, at the edge',
    'Third, in the tab again',
  ]);
  const stranger = await fetch(`${url}/api/chat/first`);
  expect(stranger.status).toBe(401);
});

test.each([
  { from: 'tab', to: 'edge' },
  { from: 'edge', to: 'tab' },
])(
  'the template "both" moves from the $from to the $to only when the answer has ended, also after a reload and in another tab',
  async ({ from, to }) => {
    const { url, token, context, page, place } = await openBoth(`${inject('heldModelUrl')}/v1`);
    await enter(page, token);
    await place.selectOption(from);
    const question = heldQuestion();
    await ask(page, question);
    const offered = (shown: Page) => shown.getByLabel('Answer in').isEnabled();
    await shows(page, 'I am the offline');
    expect(await offered(page)).toBe(false);
    expect(await page.getByText('You can change this when the answer has ended.').count()).toBe(1);
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
