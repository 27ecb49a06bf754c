import { agentEndpoint, useAgentChat, type UIMessage } from '@isoloop/react';
import { createElement, type ReactNode } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';

const initialMessages: UIMessage[] = [
  { id: 'q', role: 'user', parts: [{ type: 'text', text: 'Hello!' }] },
];

test.for([
  ['an endpoint', agentEndpoint('/api/chat', { fetch: () => Promise.reject(new Error('No.')) })],
  ['a worker, which servers do not have', undefined],
] as const)('a server renders initialMessages of %s, and keeps nothing', ([, source]) => {
  function Chat({ first }: { readonly first: UIMessage[] }): ReactNode {
    const options = { sessionId: 's', initialMessages: first, listSessions: true };
    const chat = useAgentChat(source, options);
    const texts = chat.messages.map(({ id, parts }) => `${id} ${JSON.stringify(parts)}`);
    return `${chat.status} ${chat.isBusy} ${texts.join()}`;
  }
  const render = (first: UIMessage[]): string => renderToString(createElement(Chat, { first }));
  const html = render(initialMessages);
  expect(html.replaceAll('&quot;', '"')).toBe('loading false q [{"type":"text","text":"Hello!"}]');
  expect(render([])).toBe('loading false ');
});
