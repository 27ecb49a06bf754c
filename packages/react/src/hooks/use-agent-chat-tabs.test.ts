import { tool, type JsonValue } from '@isoloop/core';
import { pageTools, type PagePart } from '@isoloop/web-worker';
import { expect, test } from 'vitest';
import {
  linesOf,
  mountChat,
  type MountedChat,
} from '../../../web-worker/test-support/mounted-chat.ts';
import {
  cutOff,
  startTabs,
  type Tab,
  type TabOptions,
} from '../../../web-worker/test-support/tabs-under-test.ts';

const ready = async (view: MountedChat): Promise<void> => {
  await expect.poll(() => view.chat()?.status).toBe('ready');
};

/** Shows the conversation of two tabs. The first one leads. */
async function mountTabs(
  one: TabOptions['replies'],
  other: TabOptions['replies'] = [],
  pages: readonly (readonly PagePart[])[] = [],
) {
  const { open, sessionId } = startTabs();
  const tabs = [open(), open()] as const;
  const mount = async (
    { worker }: Tab,
    replies: TabOptions['replies'],
    page: readonly PagePart[] = [],
  ): Promise<MountedChat> => {
    const options = { replies, database: sessionId } as unknown as JsonValue;
    const view = mountChat(worker, { sessionId, options, page, timeoutMs: 120_000 });
    await ready(view);
    return view;
  };
  const views = [
    await mount(tabs[0], one, pages[0]),
    await mount(tabs[1], other, pages[1]),
  ] as const;
  const bothShow = async (...lines: readonly string[]): Promise<void> => {
    for (const view of views) await expect.poll(() => linesOf(view)).toEqual(lines);
  };
  const bothReady = async (): Promise<void> => {
    for (const view of views) await ready(view);
  };
  return { tabs, views, bothShow, bothReady };
}

test('both tabs show questions, answers and approvals as they come, and either tab approves', async () => {
  const { tabs, views, bothShow, bothReady } = await mountTabs([
    [{ text: 'May I? ' }, { gate: 'asking', toolCalls: [{ name: 'ask', id: 'a1' }] }],
    [{ text: 'Done' }, { gate: 'answering', text: '.' }],
    'Bye.',
  ]);
  const [one, other] = views;
  void one.chat().sendMessage({ text: 'go' });
  await bothShow('user: go', 'assistant: May I? ');
  await expect.poll(() => one.chat().status).toBe('streaming');
  await expect.poll(() => other.chat().status).toBe('other-tab');
  expect(other.chat()).toMatchObject({ isBusy: true, approvals: [] });
  tabs[0].open('asking');
  await bothShow('user: go', 'assistant: May I?  | ask approval-requested');
  await bothReady();
  void other.chat().approvals[0]!.approve();
  await bothShow('user: go', 'assistant: May I?  | ask output-available allowed | Done');
  await expect.poll(() => one.chat().status).toBe('other-tab');
  await expect.poll(() => other.chat().status).toBe('streaming');
  tabs[0].open('answering');
  await bothReady();
  await other.chat().sendMessage({ text: 'thanks' });
  await bothShow(
    'user: go',
    'assistant: May I?  | ask output-available allowed | Done.',
    'user: thanks',
    'assistant: Bye.',
  );
  await bothReady();
  for (const view of views) expect(view.chat().error).toBeUndefined();
});

test('a message that is sent while another tab answers waits for that answer', async () => {
  const { tabs, views, bothShow } = await mountTabs([
    [{ text: 'First' }, { gate: 'first', text: '.' }],
    'Second.',
  ]);
  const [one, other] = views;
  void one.chat().sendMessage({ text: 'one' });
  await expect.poll(() => other.chat().status).toBe('other-tab');
  void other.chat().sendMessage({ text: 'two' });
  tabs[0].open('first');
  await bothShow('user: one', 'assistant: First.', 'user: two', 'assistant: Second.');
});

test('any tab can stop the answer of another', async () => {
  const { views, bothShow, bothReady } = await mountTabs([
    [{ text: 'First' }, { gate: 'never', text: '.' }],
  ]);
  const [one, other] = views;
  void one.chat().sendMessage({ text: 'one' });
  await bothShow('user: one', 'assistant: First');
  await other.chat().stop();
  await bothReady();
  for (const view of views) expect(view.chat().error).toBeUndefined();
});

test('when the leading tab crashes, the other tab continues its answer and says so', async () => {
  const { tabs, views } = await mountTabs(cutOff, ['the new answer']);
  const [one, other] = views;
  void one.chat().sendMessage({ text: 'go' });
  await tabs[0].heard({ reached: 'middle' });
  await expect.poll(() => other.chat().status).toBe('other-tab');
  tabs[0].worker.terminate();
  await expect
    .poll(() => linesOf(other))
    .toEqual(['user: go', 'assistant: note output-available noted | the new answer']);
  await ready(other);
  expect(other.statuses).toContain('continuing');
});

test('when the leading tab crashes, the answer of the other tab’s question continues there', async () => {
  const { tabs, views } = await mountTabs(cutOff, ['the new answer']);
  const [, other] = views;
  void other.chat().sendMessage({ text: 'go' });
  await tabs[0].heard({ reached: 'middle' });
  await expect.poll(() => linesOf(other).at(-1)).toContain('half of');
  tabs[0].worker.terminate();
  await expect
    .poll(() => linesOf(other))
    .toEqual(['user: go', 'assistant: note output-available noted | the new answer']);
  await ready(other);
  expect(other.statuses.filter((status) => status === 'continuing')).toHaveLength(1);
  expect(other.statuses).not.toContain('other-tab');
});

/** Page tool whose call begins and then never ends, or returns `output`. */
function whereTool(output?: string) {
  let begin = (): void => {};
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const where = tool({
    name: 'where',
    description: 'Says where',
    input: { type: 'object' },
    execute: () => {
      begin();
      return output ?? new Promise<string>(() => {});
    },
  });
  return { begun, page: [pageTools([where])] };
}

test.for([
  ['the leading tab', 0],
  ['another tab', 1],
] as const)(
  'a page tool call whose page has gone is an approval, and runs on the page that approves (asked in %s)',
  async ([, asking]) => {
    const gone = whereTool();
    const here = whereTool('here');
    const pages = asking === 0 ? [gone.page, here.page] : [here.page, gone.page];
    const asks = [{ toolCalls: [{ name: 'where', id: 'w1' }] }];
    const replies =
      asking === 0 ? ([[asks], ['Done.']] as const) : ([[asks, 'Done.'], []] as const);
    const { tabs, views } = await mountTabs(replies[0], replies[1], pages);
    void views[asking].chat().sendMessage({ text: 'go' });
    await gone.begun;
    tabs[asking].worker.terminate();
    const view = views[1 - asking]!;
    await expect.poll(() => view.chat().approvals).toHaveLength(1);
    await ready(view);
    expect(view.chat().approvals[0]).toMatchObject({ id: 'w1', toolName: 'where', input: {} });
    await view.chat().approvals[0]!.approve();
    await expect
      .poll(() => linesOf(view))
      .toEqual(['user: go', 'assistant: where output-available here | Done.']);
  },
);

test.for(['denies', 'writes'])(
  'after a reload during a page tool, its call waits until a person %s',
  async (act) => {
    const { open, sessionId } = startTabs();
    const mount = ({ worker }: Tab, replies: unknown, page: readonly PagePart[]): MountedChat => {
      const options = { replies, database: sessionId } as JsonValue;
      return mountChat(worker, { sessionId, options, page, timeoutMs: 120_000 });
    };
    const gone = whereTool();
    const first = open();
    const before = mount(first, [[{ toolCalls: [{ name: 'where' }] }]], gone.page);
    await ready(before);
    void before.chat().sendMessage({ text: 'go' });
    await gone.begun;
    first.worker.terminate();
    const view = mount(open(), ['Not now.'], whereTool('here').page);
    await expect.poll(() => view.chat()?.approvals).toHaveLength(1);
    if (act === 'denies') await view.chat().approvals[0]!.deny('no need');
    else await view.chat().sendMessage({ text: 'no need' });
    await expect.poll(() => linesOf(view).at(-1)).toContain('Not now.');
    expect(view.chat().approvals).toEqual([]);
    expect(view.chat().error).toBeUndefined();
  },
);

test('a chat that was empty when its component left shows what another tab has asked meanwhile', async () => {
  const { tabs, views } = await mountTabs(['Hello.'], ['Hello.']);
  const [one, other] = views;
  const sessionId = one.chat().id;
  const options = { replies: ['Hello.'], database: sessionId };
  one.unmount();
  await other.chat().sendMessage({ text: 'go' });
  const again = mountChat(tabs[0].worker, { sessionId, options, timeoutMs: 120_000 });
  await expect.poll(() => linesOf(again)).toEqual(['user: go', 'assistant: Hello.']);
});
