import { AgentError, MemoryStore, ReActAgent, tool, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { createAgentHandler } from '../src/handler/agent-handler.ts';
import { storeSessions } from '../src/store/index.ts';
import { factories } from './agent-session.ts';
import { killObjects } from './kill-objects.ts';
import { open, textOf } from './session-client.ts';

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** An endpoint of one user. */
interface Place {
  readonly id: string;
  readonly send: Send;
  readonly model: ScriptedModel;
  /** Ends the host, and returns what opens it again. */
  readonly restart: () => Promise<Send>;
}

/** Called for each new agent. */
type OnMake = () => void;

/** A tool of the page. */
const color = tool({ name: 'color', description: 'Asks for a color', input: { type: 'object' } });
/** A reply that calls the tool of the page. */
export const asksColor: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'color', input: {} }] };

/** Opens a session in a Durable Object. */
export function objectPlace(replies: readonly ScriptedReply[], onMake: OnMake = () => {}): Place {
  const session = open(replies, { tools: [color] });
  const { id, send } = session;
  const make = factories.get(id)!;
  factories.set(id, (setup) => (onMake(), make(setup)));
  const restart = async (): Promise<Send> => {
    await killObjects();
    return send;
  };
  return { id, send, model: session.script.model, restart };
}

/** Opens a session in a process. */
function processPlace(replies: readonly ScriptedReply[], onMake: OnMake = () => {}): Place {
  const store = new MemoryStore();
  const model = new ScriptedModel(replies);
  let generation = 0;
  const start = (): Send => {
    generation += 1;
    const own = generation;
    const handler = createAgentHandler({
      store: storeSessions(mortalStore(store, () => own === generation)),
      authorize: () => ({ user: 'ann' }),
      agent: ({ memory, sessionId }) => {
        onMake();
        return new ReActAgent({ name: 'a', model, memory, sessionId, tools: [color] });
      },
    });
    return async (path, init) => handler.fetch(new Request(`https://edge.test${path}`, init));
  };
  return { id: crypto.randomUUID(), send: start(), model, restart: async () => start() };
}

/** Returns a store that refuses the operations of a dead process. */
function mortalStore(store: KeyValueStore, isAlive: () => boolean): KeyValueStore {
  return new Proxy(store, {
    get(target, name: keyof KeyValueStore) {
      const value: unknown = target[name];
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (!isAlive()) throw new AgentError('STORAGE_FAILED', 'The process has died.');
        return value.apply(target, args);
      };
    },
  });
}

/** The two hosts that have a queue. */
export const places = [
  ['a Durable Object', objectPlace],
  ['a process', processPlace],
] as const;

/** Posts a message. */
export const post = (
  { id, send }: Pick<Place, 'id' | 'send'>,
  message: object,
  fields = {},
): Promise<Response> =>
  send('/api/chat', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, messages: [message], ...fields }),
  });

interface Shown {
  readonly messages: readonly UIMessage[];
  readonly queued?: readonly {
    readonly id: string;
    readonly message: UIMessage;
    readonly state: string;
    readonly error?: { readonly code: string };
  }[];
}

/** What a place shows: the texts of its messages, and the text, state and error of queued ones. */
interface ShownTexts {
  readonly texts: readonly string[];
  readonly queued: readonly (readonly [text: string, state: string, code: string | undefined])[];
}

/** Returns what a place shows. */
export async function shown({ id, send }: Pick<Place, 'id' | 'send'>): Promise<ShownTexts> {
  const response = await send(`/api/chat/${id}/messages`);
  const { messages, queued = [] } = (await response.json()) as Shown;
  return {
    texts: messages.map(textOf),
    queued: queued.map(
      ({ message, state, error }) => [textOf(message), state, error?.code] as const,
    ),
  };
}

/** Returns the text of an answer. */
export async function answerIn(response: Response): Promise<string> {
  const text = await response.text();
  return [...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join('');
}

/** Returns the message with which the page gives its tool's result. */
export const result = (messageId: string): object => ({
  id: messageId,
  role: 'assistant',
  parts: [
    {
      type: 'dynamic-tool',
      toolName: 'color',
      toolCallId: 'c1',
      state: 'output-available',
      input: {},
      output: 'blue',
    },
  ],
});
