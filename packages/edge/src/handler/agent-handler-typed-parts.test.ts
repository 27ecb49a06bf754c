import { ReActAgent, tool, type ToolContext } from '@isoloop/core';
import { keepDataParts } from '@isoloop/core/results';
import {
  typedMessages,
  typedTransport,
  type AgentData,
  type AgentTools,
} from '@isoloop/core/stream';
import { ScriptedModel } from '@isoloop/core/testing';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { expect, expectTypeOf, test } from 'vitest';
import * as z from 'zod';
import { boundEndpoint, places } from '../../test-support/both-bindings.ts';
import { createAgentHandler } from './agent-handler.ts';
import type { AgentSetup } from '../settings/handler-options.ts';

interface Weather {
  readonly degrees: number;
  readonly at: Date;
}

const weather = tool({
  name: 'weather',
  description: 'Weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }, { emit }: ToolContext<{ map: { readonly city: string } }>): Weather => {
    emit({ type: 'data-map', data: { city } });
    return { degrees: 12, at: new Date('2026-03-01T00:00:00Z') };
  },
});

const assistant = ({ memory, sessionId }: AgentSetup) =>
  new ReActAgent({
    name: 'assistant',
    model: new ScriptedModel([]),
    memory,
    sessionId,
    tools: [weather],
  });
const app = createAgentHandler({ agent: assistant });

type App = typeof app;
type Message = UIMessage<unknown, AgentData<App>, AgentTools<App>>;

test.for(places)(
  '%s: the types of an endpoint’s tools fit its stream and its history',
  async (place) => {
    const replies = [{ toolCalls: [{ name: 'weather', input: { city: 'Rome' } }] }, 'Mild.'];
    const agent = { tools: [weather], use: [keepDataParts()] };
    const { id, user, fetch, messages, chat } = boundEndpoint(place, replies, agent);
    const transport = typedTransport(
      new DefaultChatTransport<UIMessage>({
        api: 'https://edge.test/api/chat',
        headers: { authorization: `Bearer ${user}` },
        fetch: fetch as typeof globalThis.fetch,
      }),
    );
    const view = chat({ transport });
    await view.sendMessage({ text: 'Is it warm?' });
    const history = typedMessages(await messages());
    for (const { parts } of [view.messages.at(-1) as Message, history.at(-1) as Message]) {
      const shown = parts.flatMap((part) => {
        if (part.type === 'data-map') return [part.data.city];
        if (part.type !== 'tool-weather' || part.state !== 'output-available') return [];
        return [part.input.city, part.output.degrees + 1, part.output.at.slice(0, 4)];
      });
      expect(shown.toSorted()).toEqual([13, '2026', 'Rome', 'Rome']);
    }
    expect(id).toBe(view.id);
  },
);

test.for(places)('%s: a client gets typed tool parts with `typed: true`', async (place) => {
  const replies = [{ toolCalls: [{ name: 'weather', input: { city: 'Rome' } }] }, 'Mild.'];
  const agent = { tools: [weather], use: [keepDataParts()] };
  const { user, fetch, chat } = boundEndpoint(place, replies, agent);
  const transportWith = (body: object) =>
    new DefaultChatTransport<UIMessage>({
      api: 'https://edge.test/api/chat',
      headers: { authorization: `Bearer ${user}` },
      body,
      fetch: fetch as typeof globalThis.fetch,
    });
  const view = chat({ transport: transportWith({ typed: true }) });
  await view.sendMessage({ text: 'Is it warm?' });
  const { parts } = view.messages.at(-1) as Message;
  expect(parts.find(({ type }) => type === 'tool-weather')).toMatchObject({
    state: 'output-available',
    output: { degrees: 12 },
  });
  const wrong = chat({ transport: transportWith({ typed: 'yes' }) });
  await wrong.sendMessage({ text: 'Is it warm?' });
  expect(wrong.error?.message).toContain('`typed` must be a boolean');
});

test('the types of the tools come from the handler, from its factory, and from a session agent', () => {
  type Tools = {
    weather: {
      input: { readonly city: string };
      output: { readonly degrees: number; readonly at: string };
    };
  };
  expectTypeOf<AgentTools<App>>().toEqualTypeOf<Tools>();
  expectTypeOf<AgentTools<typeof assistant>>().toEqualTypeOf<Tools>();
  const withCallbacks = createAgentHandler({
    agent: async (setup: AgentSetup) => ({ agent: assistant(setup), close: async () => {} }),
  });
  expectTypeOf<AgentTools<typeof withCallbacks>>().toEqualTypeOf<Tools>();
  expectTypeOf<AgentData<typeof withCallbacks>['map']>().toEqualTypeOf<{ readonly city: string }>();
  // With an explicit `Env`, TypeScript infers no other type.
  const wide = createAgentHandler<{ readonly KEY: string }>({ agent: assistant });
  expectTypeOf<AgentTools<typeof wide>[string]['output']>().toBeUnknown();
  expect(app.Session).toBeTypeOf('function');
});

/** Contains mistakes that the type checker must find. No test calls this function. */
export function mistakesOfTypes(part: Message['parts'][number]): void {
  // @ts-expect-error: the agent has no such tool
  if (part.type === 'tool-wether') return;
  if (part.type !== 'tool-weather' || part.state !== 'output-available') return;
  // @ts-expect-error: a date is a text in a message
  part.output.at.getTime();
}
