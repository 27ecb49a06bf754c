import { useChat } from '@ai-sdk/react';
import { tool } from '@isoloop/core';
import { connectAgent, pageTools, type RemoteAgent } from '@isoloop/web-worker';
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { createElement, StrictMode, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import type { PageFixtureOptions } from '../../test-support/page.ts';

type Chat = ReturnType<typeof useChat>;

interface Mounted {
  /** Latest return value of the hook. */
  readonly chat: () => Chat;
  unmount(): void;
}

function startWorker() {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  // Workers with the same session id share one agent, so each worker gets its own session id.
  const own = crypto.randomUUID();
  const connect = (options: PageFixtureOptions): RemoteAgent =>
    connectAgent(worker, {
      timeoutMs: 120_000,
      agent: 'main',
      sessionId: options.database ?? own,
      options,
      page: [pageTools([hold])],
    });
  return { worker, connect };
}

/** Lets the call of the tool `hold` end. The call stays open until then. */
let letGo: () => void = () => {};
const hold = tool({
  name: 'hold',
  description: 'Waits for the test',
  input: { type: 'object' },
  execute: (_input, { emit }) => {
    emit('holding');
    return new Promise<string>((resolve) => (letGo = () => resolve('held')));
  },
});

interface MountOptions {
  readonly resume?: boolean;
  readonly messages?: UIMessage[];
  /** Whether to use strict mode, where React mounts, unmounts and mounts again. Default: false. */
  readonly strict?: boolean;
}

function mount(
  agent: RemoteAgent,
  { resume = false, messages = [], strict = false }: MountOptions = {},
): Mounted {
  const shownBy: { chat?: Chat } = {};
  function View({ onChat }: { readonly onChat: (chat: Chat) => void }): ReactNode {
    const chat = useChat({
      transport: agent.chatTransport(),
      messages,
      resume,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    useEffect(() => onChat(chat));
    return null;
  }
  const root = createRoot(document.createElement('div'));
  const view = createElement(View, { onChat: (chat) => void (shownBy.chat = chat) });
  root.render(strict ? createElement(StrictMode, null, view) : view);
  onTestFinished(() => root.unmount());
  return { chat: () => shownBy.chat!, unmount: () => root.unmount() };
}

const shown = (chat: Chat) =>
  chat.messages.map(
    ({ role, parts }) => `${role}: ${parts.map(partText).filter(Boolean).join(' | ')}`,
  );

function partText(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text;
  if (part.type === 'reasoning') return `(${part.text})`;
  if (part.type === 'dynamic-tool')
    return `${part.toolName} ${part.state}${part.state === 'output-available' ? ` ${String(part.output)}` : ''}`;
  return '';
}

const ready = async ({ chat }: Mounted): Promise<void> => {
  await expect.poll(() => chat()?.status).toBe('ready');
};

test('useChat shows reasoning, text and tool output, and the stored history has the same parts', async () => {
  const agent = startWorker().connect({
    replies: [{ thinking: 'hm', text: 'I look.', toolCalls: [{ name: 'here' }] }, 'There.'],
  });
  const view = mount(agent);
  await ready(view);
  await view.chat().sendMessage({ text: 'where?' });
  await ready(view);
  expect(view.chat().error).toBeUndefined();
  const whole = [
    'user: where?',
    'assistant: (hm) | I look. | here output-available in the worker | There.',
  ];
  await expect.poll(() => shown(view.chat())).toEqual(whole);
  const again = mount(agent, { messages: (await agent.uiMessages()) as UIMessage[] });
  await ready(again);
  await expect.poll(() => shown(again.chat())).toEqual(whole);
});

test('useChat shows thinking, text and tool input as they stream; stop() keeps the text, regenerate() replaces it', async () => {
  const deltas = [
    [{ type: 'thinking', id: 'r', delta: 'hm' }],
    [{ type: 'text', id: 't', delta: 'I look' }],
    [{ type: 'tool-input', index: 0, id: 'c', name: 'here', delta: '{"room":"kit' }],
  ] as const;
  const agent = startWorker().connect({ replies: [{ deltas, hang: true }, 'Anew.'] });
  const view = mount(agent);
  await ready(view);
  const sending = view.chat().sendMessage({ text: 'where?' });
  await expect
    .poll(() => view.chat().messages[1]?.parts.filter(({ type }) => type !== 'step-start'))
    .toMatchObject([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'I look' },
      { type: 'dynamic-tool', toolName: 'here', state: 'input-streaming', input: { room: 'kit' } },
    ]);
  expect(view.chat().status).toBe('streaming');
  await view.chat().stop();
  await sending;
  await ready(view);
  await expect.poll(() => shown(view.chat())[1]).toMatch(/^assistant: \(hm\) \| I look/);
  await view.chat().regenerate();
  await ready(view);
  expect(view.chat().error).toBeUndefined();
  await expect.poll(() => shown(view.chat())).toEqual(['user: where?', 'assistant: Anew.']);
});

test.for([
  ['approved', true, 'assistant: here output-available in the worker | Yes.'],
  ['denied', false, 'assistant: here output-denied | Yes.'],
] as const)(
  'useChat asks for an approval, and the call can be %s',
  async ([, approved, answer]) => {
    const agent = startWorker().connect({
      replies: [{ toolCalls: [{ name: 'here' }] }, 'Yes.'],
      needsApproval: ['here'],
    });
    const view = mount(agent);
    await ready(view);
    await view.chat().sendMessage({ text: 'where?' });
    await ready(view);
    await expect
      .poll(() => shown(view.chat()))
      .toEqual(['user: where?', 'assistant: here approval-requested']);
    const part = view.chat().messages[1]!.parts.find((each) => each.type === 'dynamic-tool');
    await view
      .chat()
      .addToolApprovalResponse({ id: part!.approval!.id, approved, reason: 'because' });
    await expect.poll(() => shown(view.chat())).toEqual(['user: where?', answer]);
    expect(view.chat().error).toBeUndefined();
  },
);

test('useChat can answer an approval after a reload that was requested before', async () => {
  const database = `approval-${crypto.randomUUID()}`;
  const first = startWorker();
  const options = {
    replies: [{ toolCalls: [{ name: 'here' }] }],
    needsApproval: ['here'],
    database,
  };
  const before = mount(first.connect(options));
  await ready(before);
  await before.chat().sendMessage({ text: 'where?' });
  await ready(before);
  first.worker.terminate();
  const agent = startWorker().connect({ ...options, replies: ['Yes.'] });
  const view = mount(agent, { resume: true, messages: (await agent.uiMessages()) as UIMessage[] });
  await ready(view);
  await expect
    .poll(() => shown(view.chat()))
    .toEqual(['user: where?', 'assistant: here approval-requested']);
  const part = view.chat().messages[1]!.parts.find((each) => each.type === 'dynamic-tool');
  await view.chat().addToolApprovalResponse({ id: part!.approval!.id, approved: true });
  await expect
    .poll(() => shown(view.chat()))
    .toEqual(['user: where?', 'assistant: here output-available in the worker | Yes.']);
});

test('a newly mounted useChat shows the current run from its start, and can stop it', async () => {
  const agent = startWorker().connect({ replies: [{ text: 'one two', hang: true }] });
  const view = mount(agent);
  await ready(view);
  void view.chat().sendMessage({ text: 'count' });
  await expect.poll(() => shown(view.chat())).toEqual(['user: count', 'assistant: one two']);
  const again = mount(agent, {
    resume: true,
    messages: [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'count' }] }],
  });
  await expect
    .poll(() => shown(again.chat() ?? { messages: [] }))
    .toEqual(['user: count', 'assistant: one two']);
  expect(again.chat().status).toBe('streaming');
  await again.chat().stop();
  await ready(view);
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test.for([false, true])(
  'a run continues after a reload (strict mode: %s): useChat keeps the text, and the finished tool does not run again',
  async (strict) => {
    const database = `reload-${crypto.randomUUID()}`;
    const first = startWorker();
    const replies = [{ text: 'I look.', toolCalls: [{ name: 'here' }] }, { hang: true }];
    const before = mount(first.connect({ replies, database }));
    await ready(before);
    void before.chat().sendMessage({ text: 'where?' });
    await expect
      .poll(() => shown(before.chat())[1])
      .toBe('assistant: I look. | here output-available in the worker');
    first.worker.terminate();
    before.unmount();

    const second = startWorker();
    const agent = second.connect({ replies: ['There.'], database, gated: true });
    const messages = (await agent.uiMessages()) as UIMessage[];
    const view = mount(agent, { resume: true, messages, strict });
    // Otherwise the run may end for the first mount of strict mode, before the second one reads it.
    await expect.poll(() => view.chat()?.status).toBe('streaming');
    second.worker.postMessage({ open: true });
    const whole = [
      'user: where?',
      'assistant: I look. | here output-available in the worker | There.',
    ];
    await expect.poll(() => (view.chat() ? shown(view.chat()) : [])).toEqual(whole);
    await ready(view);
    const ids = (await agent.uiMessages()).map(({ id }) => id);
    expect(view.chat().messages.map(({ id }) => id)).toEqual(ids);
  },
);

test('in strict mode, a newly mounted useChat shows the current run, and can stop it', async () => {
  const agent = startWorker().connect({ replies: [{ text: 'one two', hang: true }, 'three'] });
  const view = mount(agent);
  await ready(view);
  void view.chat().sendMessage({ text: 'count' });
  await expect.poll(() => shown(view.chat())).toEqual(['user: count', 'assistant: one two']);
  const [asked] = view.chat().messages;
  const again = mount(agent, { resume: true, messages: [asked!], strict: true });
  await expect
    .poll(() => shown(again.chat() ?? { messages: [] }))
    .toEqual(['user: count', 'assistant: one two']);
  expect([view.chat().status, again.chat().status]).toEqual(['streaming', 'streaming']);
  await again.chat().stop();
  await ready(view);
  expect((await agent.call('and now?')).text).toBe('three');
});

test('an unfinished run does not block the next message after its reconnect was aborted', async () => {
  const database = `left-${crypto.randomUUID()}`;
  const first = startWorker();
  const cut = first.connect({ replies: [{ hang: true }], database });
  await loseInModel(first.worker, cut, 'count');
  const agent = startWorker().connect({ replies: ['three', 'three'], database });
  const controller = new AbortController();
  const left = agent.chatTransport().reconnectToStream({ abortSignal: controller.signal });
  controller.abort();
  expect(await left).toBeNull();
  expect((await agent.call('and now?')).text).toBe('three');
});

test('a reconnect that is aborted while a guard checks the question does not stop the run', async () => {
  const { worker, connect } = startWorker();
  const agent = connect({ replies: ['Yes.'], heldInput: true });
  const answer = agent.call('go');
  for await (const { type } of agent.watch()) if (type === 'run-start') break;
  const controller = new AbortController();
  const left = agent.chatTransport().reconnectToStream({ abortSignal: controller.signal });
  // The worker answers in order, so it has sent what the reader gets before the guard ends.
  for (let trip = 0; trip < 20; trip += 1) await agent.pending();
  controller.abort();
  expect(await left).toBeNull();
  worker.postMessage({ open: true });
  expect(await answer).toMatchObject({ reason: 'stop', text: 'Yes.' });
});

test('reconnectToStream() returns null if there is no active and no unfinished run', async () => {
  const agent = startWorker().connect({ replies: ['one'] });
  expect(await agent.chatTransport().reconnectToStream()).toBeNull();
  const view = mount(agent, { resume: true });
  await ready(view);
  await view.chat().sendMessage({ text: 'hi' });
  await ready(view);
  await expect.poll(() => shown(view.chat())).toEqual(['user: hi', 'assistant: one']);
  expect(await agent.chatTransport().reconnectToStream()).toBeNull();
});

/**
 * Terminates a worker while its model answers. Waits for the model, because only then is the
 * question in the store. `messages()` may return the question earlier.
 */
async function loseInModel(worker: Worker, agent: RemoteAgent, question: string): Promise<void> {
  const read = async (): Promise<void> => {
    for await (const { type } of agent.stream(question))
      if (type === 'pre-reasoning') worker.terminate();
  };
  await expect(read()).rejects.toMatchObject({ code: 'WORKER_TERMINATED' });
}

test('two calls of reconnectToStream() after a reload share one run', async () => {
  const database = `twice-${crypto.randomUUID()}`;
  const first = startWorker();
  const cut = first.connect({ replies: [{ hang: true }], database });
  await loseInModel(first.worker, cut, 'go');
  const second = startWorker();
  const agent = second.connect({ replies: ['once'], database, gated: true });
  const streams = await Promise.all([
    agent.chatTransport().reconnectToStream(),
    agent.chatTransport().reconnectToStream(),
  ]);
  second.worker.postMessage({ open: true });
  for (const stream of streams) {
    const types: string[] = [];
    for await (const chunk of stream!) types.push(chunk.type);
    expect(types).toEqual([
      'start',
      'start-step',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ]);
  }
  expect((await agent.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
});

test('useChat shows a tool’s progress as preliminary output, and a failure as its error with the code', async () => {
  const agent = startWorker().connect({ replies: [{ toolCalls: [{ name: 'hold' }] }, 'done'] });
  const view = mount(agent);
  await ready(view);
  void view.chat().sendMessage({ text: 'go' });
  await expect.poll(() => shown(view.chat())[1]).toBe('assistant: hold output-available holding');
  letGo();
  await expect
    .poll(() => shown(view.chat())[1])
    .toBe('assistant: hold output-available held | done');
  await ready(view);
  await view.chat().sendMessage({ text: 'one more' });
  await expect.poll(() => view.chat().error).toMatchObject({ code: 'MODEL_SERVER' });
  expect(view.chat().status).toBe('error');
});
