import { agentEndpoint, type AgentChatHelpers } from '@isoloop/react';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { mountChat } from '../../../web-worker/test-support/mounted-chat.ts';

let unhandled: unknown[] = [];
const note = (event: PromiseRejectionEvent): void => {
  unhandled.push(event.reason);
  event.preventDefault();
};
beforeEach(() => {
  unhandled = [];
  addEventListener('unhandledrejection', note);
});
afterEach(() => removeEventListener('unhandledrejection', note));

/** Every action of the hook, as a component calls it: nobody waits for its promise. */
const actions: Readonly<Record<string, (chat: AgentChatHelpers) => unknown>> = {
  sendMessage: (chat) => chat.sendMessage({ text: 'Hi.' }),
  regenerate: (chat) => chat.regenerate(),
  stop: (chat) => chat.stop(),
  resumeStream: (chat) => chat.resumeStream(),
  addToolOutput: (chat) =>
    chat.addToolOutput({ tool: 'send', toolCallId: 'nobody', output: 'x' } as never),
  addToolApprovalResponse: (chat) => chat.addToolApprovalResponse({ id: 'nobody', approved: true }),
  approve: (chat) => chat.approvals[0]!.approve(),
  deny: (chat) => chat.approvals[0]!.deny('No.'),
  edit: (chat) => chat.approvals[0]!.edit({ to: 'Ann' }),
  'sessions.rename': (chat) => chat.sessions.rename('c', 'Two'),
  'sessions.delete': (chat) => chat.sessions.delete('c'),
  'sessions.export': (chat) => chat.sessions.export('c'),
  'sessions.open': (chat) => chat.sessions.open('c'),
  clearError: (chat) => chat.clearError(),
};

/** Actions without a request of their own, or whose failure nobody needs to see. */
const silent = ['stop', 'addToolOutput', 'addToolApprovalResponse', 'sessions.open', 'clearError'];

test.each(Object.entries(actions))(
  '%s on a failing endpoint sets `error`, and leaves no unhandled rejection',
  async (name, act) => {
    const endpoint = new ChatEndpoint([{ toolCalls: [{ name: 'send' }] }, 'Done.']);
    let isDown = false;
    const fetch: typeof globalThis.fetch = async (url, init) => {
      if (!isDown) return endpoint.fetch(url as string, init);
      return Response.json({ error: { code: 'INTERNAL', message: 'Down.' } }, { status: 500 });
    };
    const source = agentEndpoint('/api/chat', { fetch });
    const view = mountChat(source, { sessionId: crypto.randomUUID() });
    await expect.poll(() => view.chat()?.status).toBe('ready');
    await view.chat().sendMessage({ text: 'go' });
    await expect.poll(() => view.chat().approvals).toHaveLength(1);
    isDown = true;
    const settled = await Promise.allSettled([act(view.chat())]);
    expect(settled[0]!.status).toBe('fulfilled');
    if (!silent.includes(name)) {
      await expect.poll(() => view.chat().error).toMatchObject({ message: 'Down.' });
    }
    // A rejection that nobody handles is reported in a later task.
    await new Promise((resolve) => setTimeout(resolve));
    expect(unhandled).toEqual([]);
  },
);

test.each(['sendMessage', 'regenerate', 'approve', 'deny', 'edit'])(
  '%s on a worker whose model fails sets `error`, and leaves no unhandled rejection',
  async (name) => {
    const asks = { toolCalls: [{ name: 'here', input: { room: 'attic' } }] };
    const worker = new Worker(
      new URL('../../../web-worker/test-support/page.ts', import.meta.url),
      {
        type: 'module',
      },
    );
    onTestFinished(() => worker.terminate());
    const view = mountChat(worker, {
      agent: 'main',
      sessionId: crypto.randomUUID(),
      timeoutMs: 120_000,
      options: { database: 'isoloop', replies: [asks], needsApproval: ['here'] },
    });
    await expect.poll(() => view.chat()?.status).toBe('ready');
    await view.chat().sendMessage({ text: 'go' });
    await expect.poll(() => view.chat().approvals).toHaveLength(1);
    const settled = await Promise.allSettled([actions[name]!(view.chat())]);
    expect(settled[0]!.status).toBe('fulfilled');
    await expect.poll(() => view.chat().error?.message).toContain('The script has no reply');
    await new Promise((resolve) => setTimeout(resolve));
    expect(unhandled).toEqual([]);
  },
);
