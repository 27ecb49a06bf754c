import { agentEndpoint, useAgentChat, useOperatorMessages } from '@isoloop/react';
import { createElement, StrictMode, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';

/** Opens a page whose chat shows messages of operators. */
function open(
  endpoint: ChatEndpoint,
  retryMs = 60_000,
  { api = '/api/chat', sessionId = crypto.randomUUID() as string } = {},
) {
  const shown: { lines: readonly string[]; send?: (text: string) => Promise<void> } = { lines: [] };
  function View(): ReactNode {
    const source = agentEndpoint(api, { fetch: endpoint.fetch as typeof fetch });
    const chat = useAgentChat(source, { sessionId });
    useOperatorMessages(source, chat.id, { retryMs });
    useEffect(() => {
      shown.send = (text) => chat.sendMessage({ text });
      shown.lines = chat.messages.map(({ metadata, parts }) => {
        const { operator } = Object(metadata) as { operator?: { name: string } };
        const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
        return operator ? `${operator.name}: ${text}` : text;
      });
    });
    return null;
  }
  const root = createRoot(document.createElement('div'));
  root.render(createElement(StrictMode, null, createElement(View)));
  onTestFinished(() => root.unmount());
  return { shown, unmount: () => root.unmount() };
}

const looks = ({ requests }: ChatEndpoint): number =>
  requests.filter((request) => request.endsWith('/messages')).length;

test('a page shows the message of an operator as soon as the endpoint has it, without asking again and again', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  const { shown } = open(endpoint);
  await expect.poll(() => looks(endpoint)).toBeGreaterThan(0);
  await shown.send!('Hi');
  await expect.poll(() => shown.lines).toEqual(['Hi', 'Hello.']);
  const before = looks(endpoint);
  await endpoint.operatorSays('I am Ann.');
  await expect.poll(() => shown.lines).toEqual(['Hi', 'Hello.', 'Ann: I am Ann.']);
  await endpoint.operatorSays('Restart it.');
  await expect.poll(() => shown.lines.at(-1)).toContain('Restart it.');
  expect(looks(endpoint) - before).toBeLessThanOrEqual(4);
});

test('a page looks again and again if the endpoint cannot tell', async () => {
  const endpoint = new ChatEndpoint(['Hello.']);
  endpoint.canWait = false;
  const { shown } = open(endpoint, 20);
  await expect.poll(() => looks(endpoint)).toBeGreaterThan(0);
  await shown.send!('Hi');
  await endpoint.operatorSays('I am Ann.');
  await expect.poll(() => shown.lines.at(-1)).toBe('Ann: I am Ann.');
});

test('a page that has gone asks no more', async () => {
  const endpoint = new ChatEndpoint([]);
  const asked = (): number => endpoint.requests.filter((one) => one.endsWith('/changes')).length;
  const { unmount } = open(endpoint);
  await expect.poll(asked).toBeGreaterThan(1);
  unmount();
  const before = asked();
  await endpoint.operatorSays('Nobody reads this.');
  await expect.poll(() => endpoint.agent.messages()).toHaveLength(1);
  expect(asked()).toBe(before);
});

test('of the visible tabs of a user one waits for messages, and all of them show these', async () => {
  const endpoint = new ChatEndpoint([]);
  endpoint.user = 'ann';
  const sessionId = crypto.randomUUID();
  const tabs = ['/api/chat', '/api/./chat', '/api/././chat'].map((api) =>
    open(endpoint, 60_000, { api, sessionId }),
  );
  await expect.poll(() => endpoint.waiting).toBe(1);
  await endpoint.operatorSays('I am Ann.');
  for (const { shown } of tabs) await expect.poll(() => shown.lines).toEqual(['Ann: I am Ann.']);
  await expect.poll(() => endpoint.waiting).toBe(1);
  tabs[0]!.unmount();
  await expect.poll(() => endpoint.waiting).toBe(1);
  await endpoint.operatorSays('Restart it.');
  for (const { shown } of tabs.slice(1))
    await expect.poll(() => shown.lines).toEqual(['Ann: I am Ann.', 'Ann: Restart it.']);
});

test('a hidden page does not wait for messages, and shows them when it is visible', async () => {
  const endpoint = new ChatEndpoint([]);
  const { shown } = open(endpoint);
  await expect.poll(() => endpoint.waiting).toBe(1);
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  const state = vi.spyOn(document, 'visibilityState', 'get').mockReturnValue('hidden');
  document.dispatchEvent(new Event('visibilitychange'));
  await expect.poll(() => endpoint.waiting).toBe(0);
  await endpoint.operatorSays('I am Ann.');
  hidden.mockRestore();
  state.mockRestore();
  document.dispatchEvent(new Event('visibilitychange'));
  await expect.poll(() => shown.lines).toEqual(['Ann: I am Ann.']);
  await expect.poll(() => endpoint.waiting).toBe(1);
});
