import { createOpenAI } from '@ai-sdk/openai';
import { Output, streamText } from 'ai';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { ReActAgent } from '@isoloop/core';
import { openai } from '@isoloop/core/openai';
import { jsonMode } from '@isoloop/core/output';
import { partialOutput } from '@isoloop/core/stream';
import type { JsonValue } from '../../message/json.ts';
import { fetchOfPieces, recordedPieces } from '../../../../../test/support/recorded-pieces.ts';

const object = z.looseObject({});

async function grown(objects: AsyncIterable<unknown>): Promise<string[]> {
  const all: string[] = [];
  for await (const each of objects) {
    const shown = JSON.stringify(each);
    if (shown !== all.at(-1)) all.push(shown);
  }
  return all;
}

test.for(recordedPieces())('the object of %s grows as that of AI SDK', async ([, pieces]) => {
  const value = JSON.parse(pieces.join('')) as JsonValue;
  const common = { apiKey: 'k', baseURL: 'https://host/v1', fetch: fetchOfPieces(pieces) };
  const model = openai({ ...common, model: 'm' });
  const agent = new ReActAgent({ name: 'a', model });
  const ours = await grown(partialOutput(agent.stream('go', { output: jsonMode(object) })));
  const theirs = await grown(
    streamText({
      model: createOpenAI(common).chat('m'),
      prompt: 'go',
      output: Output.object({ schema: object }),
    }).partialOutputStream,
  );
  expect(ours).toEqual(theirs);
  expect(JSON.parse(ours.at(-1)!)).toEqual(value);
});

test('some recorded objects arrive in many pieces', () => {
  const counts = recordedPieces().map(([, pieces]) => pieces.length);
  expect(counts.filter((count) => count > 8).length).toBeGreaterThan(1);
});
