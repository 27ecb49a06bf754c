import { outputText, textOf, toolResultsOf, type ChatModel } from '@isoloop/core';

/** Tool calls of the stand-in. A question that matches the pattern gets the call. */
const calls = [
  { pattern: /time/i, name: 'time_in', input: { zone: 'Asia/Tokyo' } },
  { pattern: /lots/i, name: 'draw_lots', input: { names: ['Ann', 'Bob', 'Cem'] } },
  // The tool does not know this zone, so the call fails.
  { pattern: /fail/i, name: 'time_in', input: { zone: 'Mars/Olympus' } },
];

/** Time between two words, in milliseconds: about the pace of a model. */
const wordMs = 30;

const examples = 'Ask for “the time”, “lots” (you have to approve it), or a call that “fails”.';

/**
 * Returns a model that follows a script, so that the project works without a real model.
 * `nextStep` says how to get a real one.
 */
export function standIn(nextStep: string): ChatModel {
  return {
    provider: 'stand-in',
    modelId: 'stand-in',
    features: { tools: true, media: [] },
    async *stream({ messages }) {
      const asked = messages.findLastIndex(({ role }) => role === 'user');
      const results = messages.slice(asked + 1).flatMap(toolResultsOf);
      const call = calls.find(({ pattern }) => pattern.test(textOf(messages[asked]!)));
      if (call && results.length === 0) {
        const { name, input } = call;
        const id = crypto.randomUUID();
        yield [{ type: 'tool-input', index: 0, id, name, delta: JSON.stringify(input) }];
        yield [{ type: 'finish', reason: 'tool_calls' }];
        return;
      }
      const said = results.map(({ output }) => `The tool says: ${outputText(output)}\n\n`).join('');
      const answer = `${said}This is a scripted stand-in, not a model. ${examples} ${nextStep}`;
      for (const delta of answer.split(/(?<=\s)/)) {
        await new Promise((resolve) => setTimeout(resolve, wordMs));
        yield [{ type: 'text', id: 'text', delta }];
      }
      yield [{ type: 'finish', reason: 'stop' }];
    },
  };
}
