import { AgentError, MemoryStore, ReActAgent, tool, type KeyValueStore } from '@isoloop/core';
import { ScriptedModel, type ScriptedReply } from '@isoloop/core/testing';
import type { UIMessage } from 'ai';
import { expect, onTestFinished, test, vi } from 'vitest';
import { factories } from '../../test-support/agent-session.ts';
import { killObjects } from '../../test-support/kill-objects.ts';
import { ask, gate, open, textOf } from '../../test-support/session-client.ts';
import { createAgentHandler } from '../handler/agent-handler.ts';
import { storeSessions } from '../store/index.ts';

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
const asksColor: ScriptedReply = { toolCalls: [{ id: 'c1', name: 'color', input: {} }] };

function objectPlace(replies: readonly ScriptedReply[], onMake: OnMake = () => {}): Place {
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

const places = [
  ['a Durable Object', objectPlace],
  ['a process', processPlace],
] as const;

const post = ({ id, send }: Pick<Place, 'id' | 'send'>, message: object, fields = {}) =>
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

async function shown({ id, send }: Pick<Place, 'id' | 'send'>) {
  const response = await send(`/api/chat/${id}/messages`);
  const { messages, queued = [] } = (await response.json()) as Shown;
  return {
    texts: messages.map(textOf),
    queued: queued.map(({ message, state, error }) => [textOf(message), state, error?.code]),
  };
}

/** Returns the text of an answer. */
async function answerIn(response: Response): Promise<string> {
  const text = await response.text();
  return [...text.matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta).join('');
}

const result = (messageId: string): object => ({
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

test.each(places)(
  '%s keeps an accepted message until the page has given the result for which the answer waits',
  async (_name, openPlace) => {
    const held = gate();
    const asks = { ...(asksColor as object), wait: held.passed } as ScriptedReply;
    const place = openPlace([asks, 'Blue it is.', 'Hello to you.', 'Bye, then.']);
    const first = await post(place, ask('Paint'), { queue: true });
    const second = await post(place, ask('Hello'));
    const third = await post(place, ask('Bye'), { queue: true });
    expect([first.status, second.status, third.status]).toEqual([200, 200, 202]);
    held.open();
    const firstText = await first.text();
    expect(firstText).toContain('"color"');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['Paint', ''],
        queued: [
          ['Hello', 'waiting', undefined],
          ['Bye', 'waiting', undefined],
        ],
      });
    const messageId = /"messageId":"([^"]+)"/.exec(firstText)![1]!;
    const answer = await post(place, result(messageId));
    expect(answer.status).toBe(200);
    expect(await answerIn(answer)).toBe('Blue it is.');
    expect(await answerIn(second)).toBe('Hello to you.');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['Paint', 'Blue it is.', 'Hello', 'Hello to you.', 'Bye', 'Bye, then.'],
        queued: [],
      });
  },
);

test.each(places)(
  '%s refuses a message that comes while the page owes a result, and keeps nothing of it',
  async (_name, openPlace) => {
    const place = openPlace([asksColor, 'Blue it is.']);
    const firstText = await (await post(place, ask('Paint'))).text();
    expect((await post(place, ask('Hello'))).status).toBe(409);
    expect(await shown(place)).toEqual({ texts: ['Paint', ''], queued: [] });
    const messageId = /"messageId":"([^"]+)"/.exec(firstText)![1]!;
    expect(await answerIn(await post(place, result(messageId)))).toBe('Blue it is.');
  },
);

test.each(places)(
  '%s has a waiting message also after a restart, and then answers it',
  async (_name, openPlace) => {
    const dying = gate();
    const place = openPlace([{ wait: dying.passed }, 'One.', 'Two.']);
    // The dead process lives in this one, so the test ends its run.
    onTestFinished(async () => {
      vi.spyOn(console, 'error').mockImplementation(() => {});
      vi.spyOn(console, 'warn').mockImplementation(() => {});
      dying.open();
    });
    const message = ask('Two?');
    const first = await post(place, ask('One?'));
    await expect.poll(() => place.model.requests.length).toBe(1);
    expect((await post(place, message, { queue: true })).status).toBe(202);
    await first.body!.cancel();
    const send = await place.restart();
    const restarted = { ...place, send };
    await expect.poll(async () => (await shown(restarted)).texts).toContain('Two?');
    await expect.poll(async () => (await shown(restarted)).queued).toEqual([]);
    await expect.poll(async () => (await shown(restarted)).texts.at(-1)).toMatch(/^(One|Two)\.$/);
    expect((await shown(restarted)).texts.filter((text) => text === 'Two?')).toHaveLength(1);
  },
);

test.each(places)(
  '%s gives a waiting message back, but not one whose turn has begun',
  async (_name, openPlace) => {
    const held = gate();
    const place = openPlace([{ wait: held.passed, text: 'One.' }, 'Three.']);
    const messages = [ask('One?'), ask('Two?'), ask('Three?')] as const;
    const first = await post(place, messages[0]);
    const second = await post(place, messages[1]);
    await post(place, messages[2], { queue: true });
    const withdraw = async ({ id }: UIMessage): Promise<number> =>
      (await place.send(`/api/chat/${place.id}/queue/${id}`, { method: 'DELETE' })).status;
    expect(await withdraw(messages[1])).toBe(204);
    expect(await withdraw(messages[1])).toBe(404);
    expect(await withdraw(messages[0])).toBe(404);
    expect(await second.text()).toContain('ABORTED');
    expect((await shown(place)).queued).toEqual([['Three?', 'waiting', undefined]]);
    held.open();
    await first.text();
    await expect
      .poll(() => shown(place))
      .toEqual({ texts: ['One?', 'One.', 'Three?', 'Three.'], queued: [] });
  },
);

test.each(places)(
  '%s keeps an accepted message whose turn fails before the log has it, and it can be sent again',
  async (_name, openPlace) => {
    const held = gate();
    let makes = 0;
    const onMake = (): void => {
      makes += 1;
      if (makes === 2) throw new AgentError('OVERLOADED', 'Later.');
    };
    const place = openPlace([{ wait: held.passed, text: 'One.' }, 'Three.', 'Two.'], onMake);
    const lost = ask('Two?');
    const first = await post(place, ask('One?'));
    const second = await post(place, lost);
    await post(place, ask('Three?'), { queue: true });
    held.open();
    await first.text();
    expect(await second.text()).toContain('"type":"error"');
    await expect
      .poll(() => shown(place))
      .toEqual({
        texts: ['One?', 'One.', 'Three?', 'Three.'],
        queued: [['Two?', 'failed', expect.any(String) as string]],
      });
    expect(await answerIn(await post(place, lost))).toBe('Two.');
    expect(await shown(place)).toEqual({
      texts: ['One?', 'One.', 'Three?', 'Three.', 'Two?', 'Two.'],
      queued: [],
    });
  },
);

test('a message that waits for a result does not hold up later ones after a failed deletion', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  const held = gate();
  let failsToMake = false;
  const onMake = (): void => {
    if (failsToMake) throw new AgentError('OVERLOADED', 'Later.');
  };
  const asks = { ...(asksColor as object), wait: held.passed } as ScriptedReply;
  const place = objectPlace([asks], onMake);
  const first = await post(place, ask('Paint'));
  await post(place, ask('Hello'), { queue: true });
  held.open();
  await first.text();
  await expect
    .poll(async () => (await shown(place)).queued)
    .toEqual([['Hello', 'waiting', undefined]]);
  failsToMake = true;
  expect((await place.send(`/api/chat/${place.id}`, { method: 'DELETE' })).status).toBe(503);
  failsToMake = false;
  // The page still owes the result.
  expect((await post(place, ask('Bye'))).status).toBe(409);
});
