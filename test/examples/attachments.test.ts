import { expect, test } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region attachments
import { ReActAgent, textOf, tool, toolResultsOf, userMessage } from '@isoloop/core';
import { attachment } from '@isoloop/core/message';
import { showToolMedia } from '@isoloop/core/model';
// #endregion

test('attachments become images and files, and tools return media', async () => {
  const model = new ScriptedModel(
    [{ toolCalls: [{ name: 'screenshot' }] }, 'The chart is on the page.'],
    {
      features: { media: ['image', 'file'] },
    },
  );
  const bytes = new Uint8Array([0x25, 0x50, 0x44, 0x46]);
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);

  // #region attachments
  const screenshot = tool({
    name: 'screenshot',
    description: 'Takes a picture of the page',
    input: { type: 'object' },
    execute: () => ({
      content: [{ type: 'text', text: 'The page:' }, attachment(png, { mediaType: 'image/png' })],
    }),
  });
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    tools: [screenshot],
    use: [showToolMedia()],
  });
  await agent.call(
    userMessage([
      { type: 'text', text: 'Is this chart in the report, and on the page?' },
      attachment('https://example.com/chart.png'), // an image by its extension; the model's server fetches it
      attachment(bytes, { name: 'report.pdf', maxFileBytes: 1024 ** 2 }), // a file, sent inline; larger files throw PAYLOAD_TOO_LARGE
    ]),
  );
  // #endregion

  expect(model.requests[0]!.messages[0]!.content).toEqual([
    { type: 'text', text: 'Is this chart in the report, and on the page?' },
    {
      type: 'image',
      name: 'chart.png',
      source: { type: 'url', url: 'https://example.com/chart.png', mediaType: 'image/png' },
    },
    {
      type: 'file',
      name: 'report.pdf',
      source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERg==' },
    },
  ]);
  const seen = model.requests[1]!.messages;
  expect(seen.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  expect(textOf(seen[3]!)).toBe('From the result of screenshot (call call_1):');
  expect(seen[3]!.content[1]).toMatchObject({ type: 'image' });
  expect((await agent.messages()).flatMap(toolResultsOf)[0]!.output[1]).toMatchObject({
    type: 'image',
  });
});
