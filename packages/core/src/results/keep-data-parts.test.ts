import { expect, test } from 'vitest';
import { toolResultsOf } from '../message/msg.ts';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { toolRetry } from '../resilience/tool-retry.ts';
import { keepDataParts } from './keep-data-parts.ts';

const retry = toolRetry({ sleep: async () => {}, isTransient: () => true });

test('keepDataParts() after toolRetry() stores the parts of the last try', async () => {
  let tries = 0;
  const draw = tool({
    name: 'draw',
    description: '',
    input: { type: 'object' },
    execute: (_input, { emit }) => {
      tries += 1;
      emit({ type: 'data-chart', data: tries });
      if (tries < 2) throw new Error('busy');
      return 'drawn';
    },
  });
  const { agent } = scriptedAgent([{ toolCalls: [{ name: 'draw' }] }, 'done'], {
    tools: [draw],
    use: [retry, keepDataParts()],
  });
  const ids: unknown[] = [];
  for await (const event of agent.stream('Go'))
    if (event.type === 'acting-chunk') ids.push((event.chunk as { readonly id?: string }).id);
  const [result] = (await agent.messages()).flatMap(toolResultsOf);
  expect(result!.providerMetadata).toEqual({
    dataParts: [{ type: 'data-chart', data: 2, id: 'call_1:0' }],
  });
  // Readers replace a part with the same id.
  expect(ids).toEqual(['call_1:0', 'call_1:0']);
});
