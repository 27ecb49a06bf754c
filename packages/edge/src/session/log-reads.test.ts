import { InMemoryMemory, MemoryStore, ReActAgent, type Msg } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { ask } from '../../test-support/session-client.ts';
import { createAgentHandler } from '../handler/agent-handler.ts';
import type { AgentHandlerOptions } from '../settings/handler-options.ts';
import { storeSessions } from '../store/store-sessions.ts';

// Each read of a store in another place takes time before the first word of the answer.

/** Opens an endpoint. Returns a function that sends a message and waits for its answer. */
function open(options: Pick<AgentHandlerOptions, 'memory' | 'store'>) {
  const handler = createAgentHandler({
    agent: ({ memory }) =>
      new ReActAgent({ name: 'a', model: new ScriptedModel(['Yes.', 'No.', 'Maybe.']), memory }),
    ...options,
  });
  return async (text: string): Promise<void> => {
    const response = await handler.request('http://localhost/api/chat', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 'c', messages: [ask(text)] }),
    });
    expect(response.status).toBe(200);
    await response.text();
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
  const send = open({ memory: () => memory });
  for (const reads of [2, 4, 6]) {
    await send('Tea?');
    expect(memory.reads).toBe(reads);
  }
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
  const send = open({ store: storeSessions(store) });
  await send('Tea?');
  store.reads = [];
  await send('Cake?');
  await send('Milk?');
  const head = 's:local%2Fc:head';
  expect(store.reads).toEqual([head, head]);
});
