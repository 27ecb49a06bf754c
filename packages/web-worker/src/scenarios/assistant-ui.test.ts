import {
  AssistantRuntimeProvider,
  MessagePrimitive,
  ThreadPrimitive,
  type AssistantRuntime,
} from '@assistant-ui/react';
import { useAISDKRuntime, useChatRuntime, useThreadTokenUsage } from '@assistant-ui/react-ai-sdk';
import { tool } from '@isoloop/core';
import { hasApprovalResponse } from '@isoloop/core/stream';
import type { DataPart } from '@isoloop/core/message';
import { agentWorker, connectAgent, pageTools, type RemoteAgent } from '@isoloop/web-worker';
import { useAgentChat } from '@isoloop/react';
import type { UIMessage } from 'ai';
import { createElement as h, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test } from 'vitest';
import type { PageFixtureOptions } from '../../test-support/page.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC';

const draw = tool({
  name: 'draw',
  description: 'Draws a chart',
  input: { type: 'object' },
  execute: (_, { emit }) => {
    emit({ type: 'data-progress', data: 0.5, transient: true });
    emit({ type: 'data-chart', data: { points: [1, 2] } } satisfies DataPart<'chart'>);
    return {
      content: [{ type: 'image', source: { type: 'base64', mediaType: 'image/png', data: png } }],
    };
  },
});

function connect(options: PageFixtureOptions): RemoteAgent {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const page = [pageTools([draw])];
  const sessionId = crypto.randomUUID();
  return connectAgent(worker, { agent: 'main', sessionId, timeoutMs: 120_000, options, page });
}

const parts = {
  Text: ({ text }: { readonly text: string }) => h('p', null, text),
  Reasoning: ({ text }: { readonly text: string }) => h('em', null, text),
  Source: ({ title }: { readonly title?: string }) => h('cite', null, title),
  File: ({ data }: { readonly data: string }) => h('img', { src: data }),
  data: {
    by_name: {
      chart: ({ data }: { readonly data: { readonly points: readonly number[] } }) =>
        h('svg', { 'aria-label': data.points.join() }),
    },
  },
  tools: { Fallback: Call },
};

interface CallProps {
  readonly toolName: string;
  readonly result?: unknown;
  readonly isError?: boolean;
  readonly approval?: { readonly id: string; readonly approved?: boolean };
  respondToApproval(answer: { approved: boolean; reason?: string }): void;
}

function Call({ toolName, result, isError, approval, respondToApproval }: CallProps): ReactNode {
  const deny = () => respondToApproval({ approved: false, reason: 'Too dear.' });
  const state = isError ? JSON.stringify(result) : result === undefined ? 'open' : 'done';
  return h(
    'section',
    null,
    `${toolName}: ${state}`,
    approval && approval.approved === undefined && h('button', { onClick: deny }, 'Deny'),
  );
}

function Usage(): ReactNode {
  const usage = useThreadTokenUsage();
  return h('footer', null, usage?.totalTokens);
}

function Message(): ReactNode {
  return h(MessagePrimitive.Root, null, h(MessagePrimitive.Parts, { components: parts as never }));
}

const messageComponents = { Message };

/** Renders a thread of assistant-ui over AI SDK's chat. */
function mount(agent: RemoteAgent, messages: UIMessage[] = []) {
  const transport = agent.chatTransport();
  return mountRuntime(() =>
    useChatRuntime({ transport, messages, sendAutomaticallyWhen: hasApprovalResponse }),
  );
}

/** Renders a thread of assistant-ui. */
function mountRuntime(useRuntime: () => AssistantRuntime) {
  const shown: { runtime?: AssistantRuntime } = {};
  function View({
    onRuntime,
  }: {
    readonly onRuntime: (runtime: AssistantRuntime) => void;
  }): ReactNode {
    const runtime = useRuntime();
    useEffect(() => onRuntime(runtime));
    return h(
      AssistantRuntimeProvider,
      { runtime } as never,
      h(ThreadPrimitive.Root, null, h(ThreadPrimitive.Messages, { components: messageComponents })),
      h(Usage),
    );
  }
  const element = document.createElement('div');
  document.body.append(element);
  const root = createRoot(element);
  root.render(h(View, { onRuntime: (runtime) => void (shown.runtime = runtime) }));
  onTestFinished(() => {
    root.unmount();
    element.remove();
  });
  return { element, send: (text: string) => shown.runtime!.thread.append(text) };
}

/** Returns what the thread shows: each element with its text or its most important attribute. */
function seen(element: HTMLElement): readonly string[] {
  return [...element.querySelectorAll('p,em,cite,img,svg,section,footer')].map((one) =>
    [
      one.tagName.toLowerCase(),
      one.getAttribute('aria-label') ?? one.getAttribute('src') ?? one.textContent,
    ].join(' '),
  );
}

test('assistant-ui renders thinking, text, calls, files, data and usage, live and after a reload', async () => {
  const agent = connect({
    replies: [{ thinking: 'hm', text: 'I draw.', toolCalls: [{ name: 'draw' }] }, 'There.'],
  });
  const thread = mount(agent);
  await expect.poll(() => thread.element.querySelector('footer')).not.toBeNull();
  thread.send('Draw');
  const whole = [
    'p Draw',
    'em hm',
    'p I draw.',
    'section draw: done',
    'svg 1,2',
    `img data:image/png;base64,${png}`,
    'p There.',
    'footer 30',
  ];
  await expect.poll(() => seen(thread.element)).toEqual(whole);
  const again = mount(agent, (await agent.uiMessages()) as UIMessage[]);
  await expect.poll(() => seen(again.element)).toEqual(whole);
});

test('assistant-ui asks for an approval and shows the call as denied, with the reason', async () => {
  const agent = connect({
    replies: [{ toolCalls: [{ name: 'here' }] }, 'Then not.'],
    needsApproval: ['here'],
  });
  const thread = mount(agent);
  await expect.poll(() => thread.element.querySelector('footer')).not.toBeNull();
  thread.send('Where?');
  await expect.poll(() => thread.element.querySelector('button')).not.toBeNull();
  thread.element.querySelector('button')!.click();
  const whole = ['p Where?', 'section here: {"error":"Too dear."}', 'p Then not.'];
  // Live, the usage is that of the last run.
  await expect.poll(() => seen(thread.element)).toEqual([...whole, 'footer 15']);
  const again = mount(agent, (await agent.uiMessages()) as UIMessage[]);
  await expect.poll(() => seen(again.element)).toEqual([...whole, 'footer 30']);
});

test('assistant-ui renders the chat of useAgentChat, and its approvals reach the agent', async () => {
  const worker = new Worker(new URL('../../test-support/page.ts', import.meta.url), {
    type: 'module',
  });
  onTestFinished(() => worker.terminate());
  const asks = { thinking: 'hm', text: 'I look.', toolCalls: [{ name: 'here' }] };
  const sessionId = crypto.randomUUID();
  const source = agentWorker(worker, {
    agent: 'main',
    timeoutMs: 120_000,
    options: { replies: [asks, 'Then not.'], needsApproval: ['here'] } satisfies PageFixtureOptions,
  });
  const thread = mountRuntime(() => {
    const chat = useAgentChat(source, { sessionId });
    const status = chat.isBusy ? 'streaming' : 'ready';
    return useAISDKRuntime({ ...chat, status } as never);
  });
  await expect.poll(() => thread.element.querySelector('footer')).not.toBeNull();
  thread.send('Where?');
  await expect.poll(() => thread.element.querySelector('button')).not.toBeNull();
  thread.element.querySelector('button')!.click();
  await expect
    .poll(() => seen(thread.element))
    .toEqual([
      'p Where?',
      'em hm',
      'p I look.',
      'section here: {"error":"Too dear."}',
      'p Then not.',
      'footer 15',
    ]);
});
