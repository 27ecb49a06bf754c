import {
  ReActAgent,
  textOf,
  tool,
  toolResultsOf,
  type ChatModel,
  type Memory,
  type ModelDelta,
} from '@isoloop/core';

/**
 * Model that pays with the tool `pay`, and then says what the tool returned. Without a question
 * about paying, it says how many results the conversation has.
 */
const model: ChatModel = {
  provider: 'rules',
  modelId: 'rules',
  features: { tools: true, media: [] },
  async *stream({ messages }): AsyncGenerator<readonly ModelDelta[]> {
    const results = messages.flatMap(toolResultsOf);
    const last = messages.at(-1)!;
    if (last.role === 'user' && textOf(last).includes('Pay')) {
      const delta = JSON.stringify({ to: '김', amount: 42 });
      yield [
        { type: 'tool-input', index: 0, id: 'pay-1', name: 'pay', delta },
        { type: 'finish', reason: 'tool_calls' },
      ];
      return;
    }
    const delta =
      last.role === 'user' ? `${results.length} results` : `It says: ${String(results[0]?.output)}`;
    yield [
      { type: 'text', id: 't', delta },
      { type: 'finish', reason: 'stop' },
    ];
  },
};

/** Creates the same agent in a tab and at the edge. `place`: where its tools run. */
export function payer(place: string, sessionId: string, memory: Memory): ReActAgent {
  const pay = tool({
    name: 'pay',
    description: 'Pays money',
    input: { type: 'object' },
    needsApproval: true,
    execute: (input) => `${JSON.stringify(input)} paid ${place}`,
  });
  return new ReActAgent({ name: 'payer', sessionId, memory, model, tools: [pay] });
}
