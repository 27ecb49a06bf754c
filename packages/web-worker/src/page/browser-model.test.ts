import {
  AgentError,
  tool,
  toolResultsOf,
  userMessage,
  type ModelDelta,
  type ModelRequest,
} from '@isoloop/core';
import {
  browserModel,
  connectAgent,
  pageModel,
  pageTools,
  type BrowserModelOptions,
} from '@isoloop/web-worker';
import { expect, onTestFinished, test, vi } from 'vitest';
import type {
  LanguageModelApi,
  LanguageModelCreateOptions,
  LanguageModelPrompt,
} from './browser-model.ts';

interface Scripted {
  readonly api: LanguageModelApi;
  /** Prompts of each request to the browser's model. */
  readonly prompts: (readonly LanguageModelPrompt[])[];
  readonly created: LanguageModelCreateOptions[];
  readonly constraints: (object | undefined)[];
  readonly destroyed: () => number;
}

/**
 * Fakes the browser's Prompt API as documented. Each stream chunk has only new text, errors have
 * documented names, and sessions can be destroyed.
 */
function languageModel(
  replies: readonly (readonly string[] | Error)[],
  availability: Awaited<ReturnType<LanguageModelApi['availability']>> = 'available',
): Scripted {
  const [prompts, created, constraints]: [
    Scripted['prompts'],
    LanguageModelCreateOptions[],
    (object | undefined)[],
  ] = [[], [], []];
  let [destroyed, next] = [0, 0];
  const api: LanguageModelApi = {
    availability: async () => availability,
    async create(options = {}) {
      created.push(options);
      const target = new EventTarget();
      options.monitor?.(target);
      for (const loaded of [0, 0.5, 1])
        target.dispatchEvent(new ProgressEvent('downloadprogress', { loaded, total: 1 }));
      return {
        destroy: () => void destroyed++,
        promptStreaming(input, { signal, responseConstraint } = {}) {
          prompts.push([...(options.initialPrompts ?? []), ...input]);
          constraints.push(responseConstraint);
          const reply = replies[next++]!;
          return new ReadableStream<string>({
            start(controller) {
              if (reply instanceof Error) return controller.error(reply);
              for (const text of reply) controller.enqueue(text);
              if (reply.at(-1) !== '…') return controller.close();
              signal?.addEventListener('abort', () => controller.error(signal.reason));
            },
          });
        },
      };
    },
  };
  return { api, prompts, created, constraints, destroyed: () => destroyed };
}

async function ask(
  options: BrowserModelOptions,
  request: Partial<ModelRequest> = {},
  signal: AbortSignal = new AbortController().signal,
) {
  const deltas: ModelDelta[] = [];
  const whole = { messages: [userMessage('hi')], tools: [], ...request };
  for await (const batch of browserModel(options).stream(whole, { signal })) deltas.push(...batch);
  return deltas;
}

test('an agent in a worker uses the browser’s built-in model through the page, and calls tools of the worker and the page', async () => {
  const call = (name: string) => ['{"think": "", "tool_', `name": "${name}", "arguments": {}}`];
  const { api, prompts, destroyed } = languageModel([
    call('here'),
    call('there'),
    ['Both ', 'places.'],
  ]);
  vi.stubGlobal('LanguageModel', api);
  onTestFinished(() => void vi.unstubAllGlobals());
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const there = tool({
    name: 'there',
    description: 'Says where',
    input: { type: 'object' },
    execute: () => 'on the page',
  });
  const agent = connectAgent(worker, {
    timeoutMs: 120_000,
    agent: 'browser',
    sessionId: 's',
    page: [pageModel(browserModel()), pageTools([there])],
  });
  expect(await agent.call('where?')).toMatchObject({
    text: 'Both places.',
    toolsUsed: ['here', 'there'],
  });
  expect((await agent.messages()).flatMap(toolResultsOf).map(({ output }) => output)).toEqual([
    'in the worker',
    'on the page',
  ]);
  expect(prompts.map((each) => each.map(({ role }) => role))).toEqual([
    ['system', 'user'],
    ['system', 'user', 'assistant', 'user'],
    ['system', 'user', 'assistant', 'user', 'assistant', 'user'],
  ]);
  expect(prompts[0]![0]!.content).toContain('Tool: there');
  expect(destroyed()).toBe(3);
});

test('browserModel() passes languages and the response schema to the browser, and reports the download progress', async () => {
  const { api, created, constraints } = languageModel([['{}']]);
  const loaded: number[] = [];
  const deltas = await ask(
    { api, languages: ['ja'], onDownload: (share) => loaded.push(share) },
    { responseSchema: { type: 'object' } },
  );
  expect(deltas).toEqual([
    { type: 'text', id: 'text', delta: '{}' },
    { type: 'finish', reason: 'stop' },
  ]);
  expect(created[0]).toMatchObject({
    expectedInputs: [{ type: 'text', languages: ['ja'] }],
    expectedOutputs: [{ type: 'text', languages: ['ja'] }],
  });
  expect(loaded).toEqual([0, 0.5, 1]);
  expect(constraints).toEqual([{ type: 'object' }]);
});

test('browserModel() sends media as placeholders, and adds a user message if the conversation ends with the assistant', async () => {
  const { api, prompts } = languageModel([['ok']]);
  const image = {
    type: 'image',
    source: { type: 'base64', data: 'AAAA', mediaType: 'image/png' },
    name: 'map.png',
  } as const;
  const messages = [
    userMessage([{ type: 'text', text: 'see' }, image]),
    { ...userMessage('I see'), role: 'assistant' as const },
  ];
  await ask({ api }, { messages });
  expect(prompts[0]).toEqual([
    { role: 'user', content: 'see\n[image: map.png]' },
    { role: 'assistant', content: 'I see' },
    { role: 'user', content: 'Go on.' },
  ]);
});

test('an abort ends the reply of browserModel() and destroys the browser’s session', async () => {
  const { api, destroyed } = languageModel([['one ', '…']]);
  const controller = new AbortController();
  const stream = browserModel({ api }).stream(
    { messages: [userMessage('hi')], tools: [] },
    { signal: controller.signal },
  );
  const reply = stream[Symbol.asyncIterator]();
  await reply.next();
  controller.abort();
  await expect(reply.next()).rejects.toBe(controller.signal.reason);
  expect(destroyed()).toBe(1);
});

test.for([
  ['QuotaExceededError', 'MODEL_CONTEXT_LENGTH', false],
  ['NotAllowedError', 'MODEL_REQUEST', false],
  ['NotSupportedError', 'MODEL_REQUEST', false],
  ['NetworkError', 'MODEL_UNREACHABLE', true],
  ['UnknownError', 'MODEL_SERVER', true],
] as const)('browserModel() maps the browser’s error %s to %s', async ([name, code, retryable]) => {
  const { api, destroyed } = languageModel([new DOMException('no', name)]);
  await expect(ask({ api })).rejects.toMatchObject({
    code,
    retryable,
    message: "The browser's model failed: no",
  });
  expect(destroyed()).toBe(1);
});

test('browserModel() fails with MODEL_REQUEST in a browser without a built-in model', async () => {
  const missing = { code: 'MODEL_REQUEST', message: expect.stringContaining('no built-in model') };
  await expect(ask({ api: languageModel([], 'unavailable').api })).rejects.toMatchObject(missing);
  vi.stubGlobal('LanguageModel', undefined);
  onTestFinished(() => void vi.unstubAllGlobals());
  await expect(ask({})).rejects.toMatchObject(missing);
});

// Chromium rejects create() without a click if it would begin a download. The tests do not ask
// Chromium itself: whether its page was clicked lately depends on the time.
test('browserModel() fails with MODEL_REQUEST if the browser refuses to load its model without a click', async () => {
  const { api, prompts } = languageModel([], 'downloadable');
  const create = () => Promise.reject(new DOMException('needs a user gesture', 'NotAllowedError'));
  const error = await ask({ api: { ...api, create } }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({
    code: 'MODEL_REQUEST',
    message: "The browser's model failed: needs a user gesture",
    retryable: false,
  });
  expect(prompts).toEqual([]);
});
