import { expect, test } from 'vitest';
import { ScriptedModel } from '@isoloop/core/testing';
// #region image-question
import { ReActAgent, userMessage } from '@isoloop/core';
import { attachment } from '@isoloop/core/message';
// #endregion

const png = Uint8Array.from(
  atob(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC',
  ),
  (char) => char.charCodeAt(0),
);

test('an agent gets an image as bytes', async () => {
  const model = new ScriptedModel(['A dot.'], { features: { media: ['image'] } });

  // #region image-question
  const agent = new ReActAgent({ name: 'assistant', model });
  const { text } = await agent.call(
    userMessage([
      { type: 'text', text: 'What is in this picture?' },
      attachment(png, { mediaType: 'image/png', name: 'dot.png' }),
    ]),
  );
  // #endregion

  expect(text).toBe('A dot.');
  expect(model.requests[0]!.messages.at(-1)!.content[1]).toMatchObject({
    type: 'image',
    source: { type: 'base64', mediaType: 'image/png' },
  });
});
