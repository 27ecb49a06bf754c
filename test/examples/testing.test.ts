import { expect, test } from 'vitest';
import './strict-assert.ts';
// #region testing
import { MemoryStore as MyStore, ReActAgent, SessionMemory, tool } from '@isoloop/core';
import { keyValueStoreConformance, memoryConformance, ScriptedModel } from '@isoloop/core/testing';
import * as z from 'zod';
// #endregion
// #region conformance
import * as vitest from 'vitest';
// #endregion

const shared = new MyStore();
class MyMemory extends SessionMemory {
  constructor(sessionId: string) {
    super(shared, sessionId);
  }
}

test('ScriptedModel replays replies, pauses and errors', async () => {
  const weather = tool({
    name: 'get_weather',
    description: 'Weather',
    input: z.object({ city: z.string() }),
    execute: () => 'sunny, 18 °C',
  });

  // #region testing
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  const model = new ScriptedModel([
    {
      thinking: 'I need the weather.',
      toolCalls: [{ name: 'get_weather', input: { city: 'Paris' } }],
    },
    [{ text: 'It is ' }, { wait: opened, text: '18 °C.' }], // the second part waits for a promise, without a clock
    { text: 'Half a ', error: new Error('The line broke.') },
    (request) => `I got ${request.messages.length} messages.`,
  ]);

  const agent = new ReActAgent({ name: 'assistant', model, tools: [weather] });
  const asked = agent.call('How warm is it in Paris?');
  open();
  console.assert((await asked).text === 'It is 18 °C.');
  console.assert(model.requests[1]?.messages.at(-1)?.role === 'tool'); // the messages of the second request

  const broken = await agent.call('And in Rome?', { throwOnError: false });
  console.assert(broken.error?.message === 'The line broke.');
  console.assert((await agent.call()).text === 'I got 5 messages.');
  model.assertDone(); // throws if replies are left or missing
  // #endregion

  expect((await asked).text).toBe('It is 18 °C.');
  expect(() => new ScriptedModel(['One.']).assertDone()).toThrow(
    'Replies in the script: 1. Requests: 0.',
  );
});

// #region conformance
keyValueStoreConformance(vitest, 'MyStore', () => new MyStore());
memoryConformance(vitest, 'MyMemory', (sessionId) => new MyMemory(sessionId), { persistent: true });
// #endregion
