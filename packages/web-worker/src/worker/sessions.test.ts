import { MemoryStore, ReActAgent, SessionMemory, textOf, type Msg } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, test } from 'vitest';
import { tabSettings } from '../session/tab-options.ts';
import { Sessions } from './sessions.ts';
import type { ConnectMessage } from '../wire/protocol.ts';

test('a session whose memory could not be released opens again', async () => {
  const store = new MemoryStore();
  const releases: string[] = [];
  class Unreleased extends SessionMemory {
    override async release(): Promise<void> {
      releases.push('failed');
      throw new Error('The database is gone.');
    }
  }
  const sessions = new Sessions({
    factory: () =>
      new ReActAgent({
        name: 'a',
        model: new ScriptedModel(['Hi.']),
        memory: new Unreleased(store, 's'),
      }),
    outputs: {},
    tabs: tabSettings(undefined),
    lock: () => undefined,
  });
  const message = { agentName: undefined, sessionId: crypto.randomUUID(), options: null };
  const connect = message as Partial<ConnectMessage> as ConnectMessage;
  const ask = async (): Promise<readonly string[]> => {
    const session = sessions.connect(connect);
    await session.run({ type: 'run', input: 'Hello', options: {} } as never, new AbortController());
    return (await session.command<readonly Msg[]>({ type: 'messages' })).map(textOf);
  };
  expect(await ask()).toEqual(['Hello', 'Hi.']);
  sessions.leave(connect, true);
  expect(await ask()).toEqual(['Hello', 'Hi.', 'Hello', 'Hi.']);
  expect(releases).toEqual(['failed']);
  sessions.leave(connect, true);
  await expect.poll(() => releases.length).toBe(2);
});
