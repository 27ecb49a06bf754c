import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { ReActAgent, type AgentOptions } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import {
  AbstractChat,
  DefaultChatTransport,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type UIMessage,
} from 'ai';
import { boundTo, factories, type SessionEnv } from './agent-session.ts';
import { testEndpoint, type TestEndpoint, type TestEnv } from './endpoint.ts';
import type { AgentHandlerOptions } from '../src/settings/handler-options.ts';

/**
 * The places where an endpoint can store conversations. The bindings in `wrangler.toml` choose the
 * place.
 */
export const places = ['KV', 'KV with echoes', 'Durable Object'] as const;
export type Place = (typeof places)[number];

const given = env as unknown as SessionEnv;

export interface Bound extends Pick<TestEndpoint, 'fetch' | 'post' | 'get' | 'client'> {
  readonly id: string;
  readonly user: string;
  readonly model: ScriptedModel;
  /** Reads everything that is stored for this session and in its user's list. */
  readonly stored: () => Promise<unknown>;
  readonly messages: () => Promise<UIMessage[]>;
  /** Creates a chat as `useChat` does, with its default transport. */
  readonly chat: (init?: Partial<ChatInit<UIMessage>>) => TestChat;
}

/**
 * Opens an endpoint and a session that is stored in `place`. The session's agents give the scripted
 * replies.
 */
export function boundEndpoint(
  place: Place,
  replies: readonly ScriptedReply[],
  agentOptions: Partial<AgentOptions> = {},
  options: Partial<AgentHandlerOptions<TestEnv>> = {},
  { id = crypto.randomUUID() as string, user = `user-${crypto.randomUUID()}` } = {},
): Bound {
  const model = new ScriptedModel(replies);
  factories.set(
    id,
    ({ memory, sessionId }) =>
      new ReActAgent({ name: 'assistant', memory, sessionId, ...agentOptions, model }),
  );
  const isObject = place === 'Durable Object';
  const bindings = isObject
    ? boundTo(given, given.TEST_SESSIONS)
    : { ...given, ...(place !== 'KV' && { SESSION_SECRET: 'x'.repeat(32) }) };
  // With the default of `approvals`, tests with approvals would fail in KV.
  const handler = { approvals: 'at-least-once', ...options } as const;
  const target = testEndpoint(model as never, agentOptions, handler, bindings);
  // Encodes the user name, because headers allow fewer characters. A test can pass an `authorize`
  // that returns the raw name.
  const caller = encodeURIComponent(user);
  const headers = { authorization: `Bearer ${caller}` };
  return {
    id,
    user,
    model,
    fetch: target.fetch,
    post: (path, body, from = caller, more = {}) => target.post(path, body, from, more),
    get: (path, from = caller) => target.get(path, from),
    client: (from = caller, more = {}) => target.client(from, more),
    stored: async () => {
      await target.settled();
      return [
        await storedInKv(),
        ...(isObject ? await Promise.all([`${user}/${id}`, `${user}/`].map(storedInObject)) : []),
      ];
    },
    messages: async () => {
      await target.settled();
      return (
        (await (await target.get(`/api/chat/${id}/messages`, caller)).json()) as {
          messages: UIMessage[];
        }
      ).messages;
    },
    chat: (init = {}) => {
      const transport = new DefaultChatTransport({
        api: 'https://edge.test/api/chat',
        headers,
        fetch: target.fetch as typeof fetch,
      });
      return new TestChat({ id, transport, ...init });
    },
  };
}

/** The logic of `useChat` without React. */
export class TestChat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({ ...init, state: new State(init.messages) });
  }

  get texts(): readonly string[] {
    return this.messages.map(textOf);
  }
}

export function textOf({ parts }: Pick<UIMessage, 'parts'>): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[] = []) {
    this.messages = messages;
  }

  readonly pushMessage = (message: UIMessage): void =>
    void (this.messages = [...this.messages, message]);
  readonly popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  readonly replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(index, message));
  readonly snapshot = <T>(thing: T): T => structuredClone(thing);
}

async function storedInKv(): Promise<unknown> {
  const { keys } = await given.CHAT_KV.list();
  return Promise.all(keys.map(async ({ name }) => [name, await given.CHAT_KV.get(name)]));
}

function storedInObject(name: string): Promise<unknown> {
  const objects = given.TEST_SESSIONS;
  return runInDurableObject(objects.get(objects.idFromName(name)), async (_object, { storage }) => {
    const tables = [
      ...storage.sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'"),
    ].map((row) => row.name);
    const own = tables.filter((table) => !table.startsWith('_cf_'));
    return {
      values: [...(await storage.list())],
      rows: own.flatMap((table) =>
        [...storage.sql.exec(`SELECT * FROM ${table}`)].map((row) => [table, row]),
      ),
      alarm: await storage.getAlarm(),
    };
  });
}
