import { ReActAgent, tool, type ChatModel } from '@isoloop/core';
import type { UseChatHelpers } from '@ai-sdk/react';
import type { AgentData, AgentTools } from '@isoloop/core/stream';
import { agentWorker } from '@isoloop/web-worker';
import {
  useAgentChat,
  type AgentChatHelpers,
  type AgentUIMessage,
  type UIMessage as OwnMessage,
} from '@isoloop/react';
import { exposeAgent, type WorkerAgentSetup } from '@isoloop/web-worker/worker';
import type { UIMessage } from 'ai';
import { expect, expectTypeOf, onTestFinished, test } from 'vitest';
import { mountChat } from '../../../web-worker/test-support/mounted-chat.ts';
import type { Assistant } from '../../../web-worker/test-support/typed-tools-worker.ts';

type Message = AgentUIMessage<Assistant>;

function startWorker(): Worker {
  const worker = new Worker(
    new URL('../../../web-worker/test-support/typed-tools-worker.ts', import.meta.url),
    {
      type: 'module',
    },
  );
  onTestFinished(() => worker.terminate());
  return worker;
}

/** Reads what the page may read without a check, because of the types. */
const shown = (message: UIMessage | undefined): readonly unknown[] =>
  ((message as Message | undefined)?.parts ?? []).flatMap((part) => {
    if (part.type === 'data-map') return [part.data.zoom.toFixed(1)];
    if (part.type === 'data-tool-progress') return [part.data.progress];
    if (part.type === 'tool-note' && part.state === 'output-available')
      return [part.output.slice(0, 2)];
    if (part.type !== 'tool-forecast' || part.state !== 'output-available') return [];
    const { city, days } = part.output;
    return [part.input.city, city, days.map(({ day, high }) => day.slice(0, 4) + high.toFixed(0))];
  });

test('the messages of useAgentChat have the types of the agent in the worker, also after a reload', async () => {
  const options = { sessionId: crypto.randomUUID(), timeoutMs: 120_000 };
  const view = mountChat(startWorker(), options);
  await expect.poll(() => view.chat()?.status).toBe('ready');
  await view.chat().sendMessage({ text: 'And tomorrow?' });
  await expect.poll(() => view.chat().status).toBe('ready');
  const outputs = ['Rome', 'Rome', ['202612'], '[1'];
  const live = shown(view.chat().messages.at(-1));
  expect(live.filter((one) => one !== 'looking' && one !== '3.0')).toEqual(outputs);
  expect(live).toContain('looking');
  expect(live).toContain('3.0');
  view.unmount();
  const later = mountChat(startWorker(), options);
  await expect
    .poll(() => shown(later.chat()?.messages.at(-1)))
    .toEqual(['Rome', 'Rome', ['202612'], '[1', '3.0']);
});

test('messages and methods fit AI SDK’s types, so its components accept them', () => {
  type AiMessage = UIMessage<unknown, AgentData<Assistant>, AgentTools<Assistant>>;
  expectTypeOf<Message>().toExtend<AiMessage>();
  expectTypeOf<AiMessage>().toExtend<Message>();
  expectTypeOf<Message>().toExtend<UIMessage>();
  expectTypeOf<OwnMessage>().toExtend<UIMessage>();
  expectTypeOf<UIMessage>().toExtend<OwnMessage>();
  type Shared = Pick<
    UseChatHelpers<UIMessage>,
    | 'id'
    | 'messages'
    | 'error'
    | 'sendMessage'
    | 'regenerate'
    | 'stop'
    | 'resumeStream'
    | 'clearError'
    | 'setMessages'
    | 'addToolOutput'
    | 'addToolApprovalResponse'
  >;
  expectTypeOf<AgentChatHelpers>().toExtend<Shared>();
});

const named = <const Name extends string>(name: Name) =>
  tool({ name, description: '', input: { type: 'object' }, execute: () => 1 as number });

/** Contains mistakes that the type checker must find. No test calls this function. */
export function useWithMistakes(worker: Worker, model: ChatModel): void {
  const { messages, setMessages } = useAgentChat(agentWorker<Assistant>(worker), {
    sessionId: 's',
  });
  expectTypeOf(messages).toEqualTypeOf<Message[]>();
  const plain = useAgentChat(agentWorker(worker), { sessionId: 's' });
  const typed = useAgentChat<Assistant>(agentWorker(worker), { sessionId: 's' });
  expectTypeOf(typed.messages).toEqualTypeOf<Message[]>();
  expectTypeOf(plain.messages).toExtend<UIMessage[]>();
  for (const part of messages[0]!.parts) {
    // @ts-expect-error: the agent has no such tool
    if (part.type === 'tool-forcast') return;
    if (part.type !== 'tool-forecast' || part.state !== 'output-available') continue;
    // @ts-expect-error: a date is a text in a message
    part.output.days[0]?.day.getTime();
    // @ts-expect-error: the model writes no such argument
    void part.input.town;
  }
  // @ts-expect-error: the data does not fit its name
  setMessages([{ id: '1', role: 'assistant', parts: [{ type: 'data-map', data: 'Rome' }] }]);

  const several = exposeAgent({
    writer: ({ memory }) =>
      new ReActAgent({ name: 'writer', model, memory, tools: [named('write')] }),
    critic: async () => new ReActAgent({ name: 'critic', model, tools: [named('judge')] }),
  });
  expectTypeOf<keyof AgentTools<typeof several>>().toEqualTypeOf<'write' | 'judge'>();
  const either = exposeAgent(({ sessionId }) =>
    sessionId
      ? new ReActAgent({ name: 'writer', model, tools: [named('write')] })
      : new ReActAgent({ name: 'critic', model, tools: [named('judge')] }),
  );
  expectTypeOf<keyof AgentTools<typeof either>>().toEqualTypeOf<'write' | 'judge'>();
}

/** Contains wrong options that the type checker must find. No test calls this function. */
export function useWithWrongOptions(worker: Worker, model: ChatModel): void {
  const chatOptions = { sessionId: 's' };
  const several = exposeAgent({
    writer: ({ memory }) =>
      new ReActAgent({ name: 'writer', model, memory, tools: [named('write')] }),
    critic: ({ memory }) => new ReActAgent({ name: 'critic', model, memory }),
  });
  // @ts-expect-error: the worker exposes several agents
  agentWorker<typeof several>(worker);
  // @ts-expect-error: the worker exposes no such agent
  agentWorker<typeof several>(worker, { agent: 'wrter' });
  const either = useAgentChat(
    agentWorker<typeof several>(worker, { agent: 'writer' }),
    chatOptions,
  );
  expectTypeOf(either.messages).toEqualTypeOf<AgentUIMessage<typeof several>[]>();
  const configured = exposeAgent(
    ({ options }: WorkerAgentSetup<{ readonly url: string }>) =>
      new ReActAgent({ name: options.url, model, tools: [named('write')] }),
  );
  // @ts-expect-error: the agent needs its options
  agentWorker<typeof configured>(worker);
  // @ts-expect-error: the agent has no such option
  agentWorker<typeof configured>(worker, { options: { uri: '' } });
  agentWorker<typeof configured>(worker, { options: { url: '' } });
  const agent = new ReActAgent({ name: 'writer', model, tools: [named('write')] });
  useAgentChat<typeof agent>(agentWorker(worker, { agent: 'writer', options: 1 }), chatOptions);
  useAgentChat<() => Promise<typeof agent>>(agentWorker(worker, { options: 1 }), chatOptions);
}
