// #region model-conformance
import * as vitest from 'vitest';
import { modelConformance } from '@isoloop/core/testing';
// #endregion
import { openai as myModel } from '@isoloop/core/openai';

// #region model-conformance
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const delta = (fields: object) => event({ choices: [{ delta: fields }] });
const reasons = { stop: 'stop', 'tool-calls': 'tool_calls', length: 'length' };

modelConformance(vitest, 'myModel()', {
  model: (fetch) => myModel({ model: 'm', apiKey: 'k', fetch }),
  rules: (body) => (body.includes('"stream":true') ? [] : ['The request asks for no stream.']),
  // the body of a reply in your format, one text for each event
  wire: ({ thinking = [], text = [], toolCalls = [], finish, usage }) => [
    ...thinking.map((piece) => delta({ reasoning_content: piece })),
    ...text.map((piece) => delta({ content: piece })),
    ...toolCalls.flatMap(({ id, name, arguments: pieces }, index) => [
      delta({ tool_calls: [{ index, id, function: { name } }] }),
      ...pieces.map((piece) => delta({ tool_calls: [{ index, function: { arguments: piece } }] })),
    ]),
    event({
      choices: [{ delta: {}, finish_reason: reasons[finish] }],
      usage: usage && {
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
        prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
        completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
      },
    }),
  ],
});
// #endregion
