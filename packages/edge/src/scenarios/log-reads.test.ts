import { InMemoryMemory, MemoryStore, ReActAgent, type Msg } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { openAiRoutes } from '@isoloop/openai-api';
import { expect, test } from 'vitest';
import { ask } from '../../test-support/session-client.ts';
import { createAgentHandler } from '../handler/agent-handler.ts';
import type { AgentHandlerOptions } from '../settings/handler-options.ts';
import { storeSessions } from '../store/store-sessions.ts';

// Each read of a store in another place takes time before the first word of the answer.

/** Opens an endpoint. Returns functions that send a message and wait for its answer. */
function open(options: Pick<AgentHandlerOptions, 'memory' | 'store'>) {
  const handler = createAgentHandler({
    agent: ({ memory }) =>
      new ReActAgent({ name: 'a', model: new ScriptedModel(['Yes.', 'No.', 'Maybe.']), memory }),
    openai: openAiRoutes(),
    ...options,
  });
  const post = async (path: string, body: object): Promise<void> => {
    const headers = { 'content-type': 'application/json', 'x-isoloop-session': 'c' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    const response = await handler.request(`http://localhost${path}`, init);
    expect(response.status).toBe(200);
    await response.text();
  };
  return {
    chat: (text: string) => post('/api/chat', { id: 'c', messages: [ask(text)] }),
    run: (input: string) => post('/api/run', { sessionId: 'c', input }),
    complete: (content: string) =>
      post('/v1/chat/completions', { model: 'default', messages: [{ role: 'user', content }] }),
  };
}

test('a turn reads the log once before its run, and once in it', async () => {
  class CountedMemory extends InMemoryMemory {
    reads = 0;

    override read(): Promise<readonly Msg[]> {
      this.reads += 1;
      return super.read();
    }
  }
  const memory = new CountedMemory();
  const { chat, run, complete } = open({ memory: () => memory });
  const counts: number[] = [];
  for (const send of [chat, chat, complete, run]) {
    memory.reads = 0;
    await send('Tea?');
    counts.push(memory.reads);
  }
  expect(counts).toEqual([2, 2, 2, 2]);
});

test('a session in a store is read once, and later turns only ask whether it has changed', async () => {
  class CountedStore extends MemoryStore {
    reads: string[] = [];

    override get(key: string): Promise<string | undefined> {
      this.reads.push(key);
      return super.get(key);
    }

    override getMany(keys: readonly string[]): Promise<ReadonlyMap<string, string>> {
      this.reads.push(...keys);
      return super.getMany(keys);
    }
  }
  const store = new CountedStore();
  const { chat } = open({ store: storeSessions(store) });
  await chat('Tea?');
  store.reads = [];
  await chat('Cake?');
  await chat('Milk?');
  const head = 's:local%2Fc:head';
  expect(store.reads).toEqual([head, head]);
});
