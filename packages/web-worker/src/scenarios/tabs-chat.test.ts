import type { UiChunk } from '@isoloop/core/stream';
import type { RemoteAgent } from '@isoloop/web-worker';
import { readUIMessageStream, type UIMessage } from 'ai';
import { expect, test } from 'vitest';
import { cutOff, read, startTabs } from '../../test-support/tabs-under-test.ts';
import { initialCredits } from '../wire/protocol.ts';
import { rolesOf } from '@test/roles-of.ts';

const user = (text: string): UIMessage => ({
  id: 'u1',
  role: 'user',
  parts: [{ type: 'text', text }],
});
const send = (
  agent: RemoteAgent,
  message: UIMessage,
  abortSignal?: AbortSignal,
): Promise<ReadableStream<UiChunk>> =>
  agent
    .chatTransport()
    .sendMessages({ trigger: 'submit-message', messages: [message], abortSignal });

interface View {
  /** Message as the chat shows it now. */
  readonly message: () => UIMessage | undefined;
  /** Resolves with the whole message when the stream ends. */
  readonly end: Promise<UIMessage | undefined>;
  until(fits: (message: UIMessage) => boolean): Promise<UIMessage>;
}

/** Reads a stream with AI SDK's reader. With `message`, the reader continues that message. */
function view(stream: ReadableStream<UiChunk>, message?: UIMessage): View {
  let shown: UIMessage | undefined;
  let wake = (): void => {};
  const end = (async () => {
    const messages = readUIMessageStream({
      stream,
      terminateOnError: true,
      ...(message && { message: structuredClone(message) }),
    });
    for await (const each of messages) {
      shown = each;
      wake();
    }
    return shown;
  })();
  end.catch(() => {});
  return {
    message: () => shown,
    end,
    async until(fits) {
      while (!shown || !fits(shown))
        await Promise.race([end, new Promise<void>((resolve) => (wake = resolve))]);
      return shown;
    },
  };
}

const textIn = ({ parts }: UIMessage): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
const says = (text: string) => (message: UIMessage) => textIn(message).includes(text);
const toolIn = ({ parts }: UIMessage) => parts.find((part) => part.type === 'dynamic-tool');
const answered = (message: UIMessage, approved: boolean): UIMessage => ({
  ...message,
  parts: message.parts.map((part) =>
    part.type === 'dynamic-tool' && part.state === 'approval-requested'
      ? { ...part, state: 'approval-responded', approval: { id: part.approval.id, approved } }
      : part,
  ),
});

test.for(['leader', 'follower'] as const)(
  'a second tab that reconnects shows the run of the %s’s chat from start to end',
  async (who) => {
    const { open } = startTabs();
    const [first, second] = [open(), open()];
    const leader = first.connect([[{ text: 'one ' }, { gate: 'middle', text: 'two' }]]);
    await leader.messages();
    const follower = second.connect();
    const [asks, reconnects] = who === 'leader' ? [leader, follower] : [follower, leader];
    expect(await reconnects.chatTransport().reconnectToStream()).toBeNull();
    const own = view(await send(asks, user('go')));
    await own.until(says('one'));
    const other = view((await reconnects.chatTransport().reconnectToStream())!);
    await other.until(says('one'));
    first.open('middle');
    expect(await other.end).toEqual(await own.end);
    expect(textIn(other.message()!)).toBe('one two');
    expect(await reconnects.chatTransport().reconnectToStream()).toBeNull();
    expect(await follower.uiMessages()).toEqual(await leader.uiMessages());
    expect(second.told).toEqual([]);
  },
);

test.for(['leader', 'follower'] as const)(
  'a second tab can stop the run of the %s’s chat, and only closing its connection does not stop the run',
  async (who) => {
    const { open } = startTabs();
    const [first, second] = [open(), open()];
    const leader = first.connect([[{ text: 'one ', hang: true }]]);
    await leader.messages();
    const follower = second.connect();
    const [asks, others] = who === 'leader' ? [leader, second] : [follower, first];
    const own = view(await send(asks, user('go')));
    await own.until(says('one'));
    const [leaves, stays] = [others.connect(), others.connect()];
    await view((await leaves.chatTransport().reconnectToStream())!).until(says('one'));
    const controller = new AbortController();
    const stream = await stays
      .chatTransport()
      .reconnectToStream({ abortSignal: controller.signal });
    leaves.close();
    const other = view(stream!);
    await other.until(says('one'));
    expect(await stays.messages()).toHaveLength(1);
    controller.abort();
    expect(await own.end).toMatchObject({ metadata: { reason: 'aborted' } });
    expect(await other.end).toMatchObject({ metadata: { reason: 'aborted' } });
    expect(rolesOf(await leader.messages())).toBe('user assistant');
  },
);

test.for(['leader', 'follower'] as const)(
  'both tabs show an approval, the %s answers it, and both tabs show the result',
  async (who) => {
    const { open } = startTabs();
    const [first, second] = [open(), open()];
    const leader = first.connect([
      [{ text: 'May I? ' }, { gate: 'asking', toolCalls: [{ name: 'ask', id: 'a1' }] }],
      [{ gate: 'answering', text: 'done' }],
    ]);
    await leader.messages();
    const follower = second.connect();
    const own = view(await send(leader, user('go')));
    await first.heard({ reached: 'asking' });
    const other = view((await follower.chatTransport().reconnectToStream())!);
    first.open('asking');
    const [ownMessage, otherMessage] = [(await own.end)!, (await other.end)!];
    for (const message of [ownMessage, otherMessage])
      expect(toolIn(message)).toMatchObject({ state: 'approval-requested', toolCallId: 'a1' });
    expect(await follower.pending()).toMatchObject([{ toolUseId: 'a1', kind: 'approval' }]);
    expect(await follower.uiMessages()).toEqual(await leader.uiMessages());

    const [decides, waits] = who === 'leader' ? [leader, follower] : [follower, leader];
    const decided = answered(who === 'leader' ? ownMessage : otherMessage, true);
    const answer = view(await send(decides, decided), decided);
    await first.heard({ reached: 'answering' });
    const seen = view((await waits.chatTransport().reconnectToStream())!);
    first.open('answering');
    for (const { end } of [answer, seen]) {
      const message = (await end)!;
      expect([textIn(message), toolIn(message)]).toMatchObject([
        'May I? done',
        { state: 'output-available', output: 'allowed' },
      ]);
    }
    await expect(view(await send(waits, decided), decided).end).rejects.toMatchObject({
      code: 'INVALID_DECISION',
    });
  },
);

test('when the leader crashes, the chats of two other tabs show the continued run, and one chat can stop it', async () => {
  const { open } = startTabs();
  const [first, second, third] = [open(), open(), open()];
  await first.connect(cutOff).messages();
  const replies = [[{ text: 'the new answer', hang: true }]];
  const [asks, reconnects] = [second.connect(replies), third.connect(replies)];
  const own = view(await send(asks, user('go')));
  await own.until(says('half of'));
  const controller = new AbortController();
  const other = view(
    (await reconnects.chatTransport().reconnectToStream({ abortSignal: controller.signal }))!,
  );
  await other.until(says('half of'));
  first.worker.terminate();
  for (const shown of [own, other])
    expect(toolIn(await shown.until(says('the new answer')))).toMatchObject({
      state: 'output-available',
    });
  expect(textIn(other.message()!)).toBe('the new answer');
  controller.abort();
  for (const { end } of [own, other]) expect(textIn((await end)!)).toBe('the new answer');
  expect(rolesOf(await asks.messages())).toBe('user assistant tool assistant');
  expect([first, second, third].flatMap(({ told }) => told).filter((one) => 'ran' in one)).toEqual([
    { ran: 'n1' },
  ]);
});

test('after the leader has crashed, a chat can stop the continued run', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  await first.connect(cutOff).messages();
  const controller = new AbortController();
  const follower = second.connect([[{ text: 'the new answer', hang: true }]]);
  const own = view(await send(follower, user('go'), controller.signal));
  await own.until(says('half of'));
  first.worker.terminate();
  await own.until(says('the new answer'));
  controller.abort();
  expect(await own.end).toMatchObject({ metadata: { reason: 'aborted' } });
});

test('two new tabs that reconnect to an unfinished run at the same time share one run', async () => {
  const { open } = startTabs();
  const first = open();
  const agent = first.connect(cutOff);
  const lost = agent.call('go').catch((error: unknown) => error);
  await first.heard({ reached: 'middle' });
  first.worker.terminate();
  expect(await lost).toMatchObject({ code: 'WORKER_TERMINATED' });
  const tabs = [open(), open()];
  const agents = tabs.map((tab) =>
    tab.connect([[{ text: 'the new ' }, { gate: 'new', text: 'answer' }]]),
  );
  const streams = await Promise.all(agents.map((each) => each.chatTransport().reconnectToStream()));
  await Promise.race(tabs.map((tab) => tab.heard({ reached: 'new' })));
  for (const tab of tabs) tab.open('new');
  for (const stream of streams) {
    const message = (await view(stream!).end)!;
    expect([textIn(message), toolIn(message)]).toMatchObject([
      'the new answer',
      { state: 'output-available', output: 'noted' },
    ]);
  }
  expect(rolesOf(await agents[1]!.messages())).toBe('user assistant tool assistant');
});

test('a caller that does not read its own run does not delay other readers', async () => {
  const { open } = startTabs();
  const [first, second] = [open(), open()];
  const words = Array.from({ length: 4 * initialCredits }, (_, index) => `w${index}`).join(' ');
  const leader = first.connect([words]);
  await leader.messages();
  const stalled = await send(leader, user('count'));
  expect((await stalled.getReader().read()).done).toBe(false);
  const other = view((await second.connect().chatTransport().reconnectToStream())!);
  expect(textIn((await other.end)!)).toBe(words);
});

test('with tabs: false, reconnectToStream() ignores the run of another tab', async () => {
  const { open } = startTabs();
  const [first, second] = [open({ tabs: false }), open({ tabs: false })];
  const runs = first.connect([[{ text: 'one ', hang: true }]]);
  const stream = runs.stream('go');
  await read(stream).until((event) => event.type === 'reasoning-chunk');
  expect(await second.connect(['twice']).chatTransport().reconnectToStream()).toBeNull();
  await runs.interrupt();
  expect((await stream.result).reason).toBe('interrupted');
});
