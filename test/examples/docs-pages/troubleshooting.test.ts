import { expect, test } from 'vitest';
import '../strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region see-requests
import {
  MemoryStore,
  ReActAgent,
  SessionMemory,
  textOf,
  tool,
  type Middleware,
} from '@isoloop/core';
import { withStream } from '@isoloop/core/model';
// #endregion
// #region charge-once
// #endregion
import { signalUntilTestEnd } from '../../support/test-end.ts';

const named = (name: string) =>
  tool({ name, description: `The tool ${name}`, input: {}, execute: () => 'ok' });

test('the page about troubleshooting shows what the model read before it chose a tool', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'search_mail' }] }, 'Done.']);
  const tools = [named('search_mail'), named('search_web')];
  const shown: string[] = [];
  const log = (line: string): void => void shown.push(line);

  // #region see-requests
  const seeRequests: Middleware = {
    wrapModel: (next) =>
      withStream(next, (request, context) => {
        log(`Messages: ${request.messages.map(textOf).join(' | ')}`);
        log(`Tools: ${request.tools.map(({ name, description }) => `${name} (${description})`)}`);
        return next.stream(request, context);
      }),
    on: {
      'pre-acting': ({ toolUse, problem }) => {
        log(`Call: ${toolUse.name} ${JSON.stringify(toolUse.input)}`);
        if (problem) log(`Problem: ${problem}`);
      },
    },
  };
  const agent = new ReActAgent({ name: 'assistant', model, tools, use: [seeRequests] });
  await agent.call('Find the news.');
  // #endregion

  expect(shown.slice(0, 3)).toEqual([
    'Messages: Find the news.',
    'Tools: search_mail (The tool search_mail),search_web (The tool search_web)',
    'Call: search_mail {}',
  ]);
});

test('the page about troubleshooting gives a tool that runs again the same key', async () => {
  const store = new MemoryStore();
  const keys: string[] = [];
  const model = new ScriptedModel([{ toolCalls: [{ name: 'charge', input: {} }] }, 'Done.']);
  let isDead = true;
  const send = (amount: number, key: string): Promise<string> | string => {
    keys.push(key);
    return isDead ? new Promise<string>(() => {}) : `Charged ${amount}.`;
  };

  // #region charge-once
  const charge = tool({
    name: 'charge',
    description: 'Charges the card',
    input: {},
    replay: 'safe', // may run again after a crash; default 'never'
    execute: (_, { idempotencyKey }) => send(30, idempotencyKey), // the server does nothing twice for one key
  });
  // #endregion

  const open = (): ReActAgent =>
    new ReActAgent({
      name: 'assistant',
      model,
      tools: [charge],
      sessionId: 's',
      memory: new SessionMemory(store, 's'),
    });
  const first = open().stream('Charge it.', { detached: true, signal: signalUntilTestEnd() });
  for await (const event of first) if (event.type === 'pre-acting') break;
  await expect.poll(() => keys.length).toBe(1);
  isDead = false;
  expect((await open().call()).text).toBe('Done.');
  expect(keys).toEqual([keys[0], keys[0]]);
});
