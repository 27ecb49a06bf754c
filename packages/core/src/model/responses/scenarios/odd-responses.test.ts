import { expect, test } from 'vitest';
import { AgentError } from '../../../error/agent-error.ts';
import { openaiResponses } from '../openai-responses.ts';
import { ReActAgent } from '../../../react-agent/react-agent.ts';

type Fields = Readonly<Record<string, unknown>>;

const item = (text: string): Fields => ({
  type: 'message',
  id: 'm1',
  content: text ? [{ type: 'output_text', text }] : [],
});
const created = { type: 'response.created', response: { id: 'r1', status: 'in_progress' } };
const added = { type: 'response.output_item.added', output_index: 0, item: item('') };
const part = { item_id: 'm1', output_index: 0, content_index: 0 };
const delta = { type: 'response.output_text.delta', ...part, delta: 'Hello' };
const noText = {
  type: 'response.content_part.done',
  ...part,
  part: { type: 'output_text', text: '' },
};
const itemDone = (text: string): Fields => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: item(text),
});
const completed = (more: Fields = {}): Fields => ({
  type: 'response.completed',
  response: { id: 'r1', status: 'completed', ...more },
});
const failed = { type: 'response.failed', response: { id: 'r1', status: 'failed', error: null } };

/** Returns the answer, or the code of the error and whether another try may help. */
async function seenOf(events: readonly Fields[]): Promise<unknown> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const headers = { 'content-type': 'text/event-stream' };
  const model = openaiResponses({
    model: 'm',
    apiKey: 'k',
    fetch: async () => new Response(body, { headers }),
  });
  try {
    return (await new ReActAgent({ name: 'a', model }).call('Hi')).text;
  } catch (error) {
    return AgentError.is(error) ? [error.code, error.retryable] : error;
  }
}

test.each<readonly [name: string, source: string, events: readonly Fields[], seen: unknown]>([
  [
    'an empty output at its end',
    'https://github.com/QuantumNous/new-api/issues/4362',
    [created, added, delta, itemDone('Hello'), completed({ output: [] })],
    'Hello',
  ],
  [
    'no output and no usage at its end',
    'https://github.com/decolua/9router/issues/705',
    [created, added, delta, itemDone('Hello'), completed()],
    'Hello',
  ],
  [
    'empty texts in its last events',
    'https://github.com/agentgateway/agentgateway/pull/2281',
    [created, added, delta, noText, itemDone(''), completed({ output: [item('')] })],
    'Hello',
  ],
  [
    'items without deltas',
    'https://github.com/straff2002/OpenGlasses/pull/410',
    [created, itemDone('Hello'), completed()],
    'Hello',
  ],
  [
    'a failure without an error',
    'https://github.com/langchain-ai/langchain/issues/39039',
    [created, added, delta, failed],
    ['MODEL_SERVER', true],
  ],
  [
    'no last event',
    'https://github.com/moeru-ai/airi/pull/2589',
    [created, added, delta, itemDone('Hello')],
    ['MODEL_BAD_RESPONSE', true],
  ],
])('a response with %s (%s)', async (_name, _source, events, seen) => {
  expect(await seenOf(events)).toEqual(seen);
});
