import {
  MemoryStore,
  tool,
  toolResultsOf,
  type Msg,
  type PendingCall,
  type Tool,
  type ToolUse,
} from '@isoloop/core';
import {
  endpointPlace,
  sessionViewOf,
  storePlace,
  type SessionCopy,
  type SessionPlace,
} from '@isoloop/core/move';
import type { LogRecord } from '@isoloop/core/log';
import type { ScriptedReply } from '@isoloop/core/testing';
import * as z from 'zod';
import type { AgentHandlerOptions } from '../src/settings/handler-options.ts';
import { sessionMoves } from '../src/move/index.ts';
import { bindings, testEndpoint, type TestEndpoint, type TestEnv } from './endpoint.ts';
import type { Session } from './session-client.ts';

export const placeOf = ({ send }: Session): SessionPlace =>
  endpointPlace('https://edge.test/api/chat', { fetch: (url, init) => send(url, init) });

export const tab = (store = new MemoryStore()): SessionPlace =>
  storePlace({ name: 'browser:1', store });

export const textsOf = (
  messages: readonly { readonly parts: readonly object[] }[],
): readonly string[] =>
  messages.map(({ parts }) =>
    parts.map((part) => ('text' in part ? String(part.text) : '')).join(''),
  );

export function copyOf(
  sessionId: string,
  messages: readonly Msg[],
  more: readonly LogRecord[] = [],
): SessionCopy {
  const records = messages.map((message): LogRecord => ({ kind: 'message', message }));
  const ownership = { owner: 'browser:1', epoch: 1, copyOf: 't' };
  const format = 'isoloop-session' as const;
  return { format, version: 5 as const, sessionId, records: [...records, ...more], ownership };
}

/** Stores a copy and gives it to the endpoint. */
export async function imported(session: Session, copy: SessionCopy): Promise<void> {
  const place = placeOf(session);
  await place.put(copy);
  await place.setOwner(session.id, { owner: place.name, epoch: 2, copyOf: 't' });
}

export function pay(runs: string[]): Tool {
  return tool({
    name: 'pay',
    description: '',
    input: z.object({}),
    execute: () => {
      runs.push('paid');
      return 'paid';
    },
  });
}

export const callOf = (id: string): ToolUse => ({ type: 'tool_use', id, name: 'pay', input: {} });

export const pendingIn = (copy: SessionCopy | undefined): readonly PendingCall[] =>
  copy!.records.flatMap((record) =>
    record.kind === 'suspended' ? record.calls.map(({ pending }) => pending) : [],
  );

/** Returns the messages of a session from its records, as agents read them. */
export const messagesOf = (records: readonly LogRecord[]): readonly Msg[] =>
  sessionViewOf(records).messages;

export const resultsIn = (copy: SessionCopy | undefined): readonly (readonly string[])[] =>
  messagesOf(copy!.records)
    .flatMap(toolResultsOf)
    .map(({ toolUseId, state }) => [toolUseId, state]);

export const suspended = (id: string, kind: PendingCall['kind']): LogRecord => ({
  kind: 'suspended',
  calls: [{ pending: { toolUseId: id, name: 'pay', input: {}, kind } }],
});

const secret = { ...bindings, SESSION_SECRET: 'a secret of at least thirty-two letters' };

export function kvEndpoint(
  replies: readonly ScriptedReply[],
  tools: readonly Tool[] = [],
  more: Partial<AgentHandlerOptions<TestEnv>> = {},
): TestEndpoint & { readonly place: SessionPlace } {
  const options = { moves: sessionMoves(), approvals: 'at-least-once', ...more } as const;
  const endpoint = testEndpoint(replies, { tools: [...tools] }, options, secret);
  const place = endpointPlace('https://edge.test/api/chat', {
    headers: { authorization: 'Bearer ann' },
    fetch: (url, init) => endpoint.fetch(url, init),
  });
  return { ...endpoint, place };
}
