import { expect, test } from 'vitest';
import { isBlock } from './is-message.ts';

const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };

test.each<unknown>([
  { type: 'text', text: '' },
  { type: 'thinking', thinking: 'hm' },
  image,
  { type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: '' } },
  { type: 'tool_use', id: '1', name: 'a', input: null },
  { type: 'tool_result', toolUseId: '1', name: 'a', output: [image], state: 'success' },
])('isBlock() accepts the block %j', (value) => expect(isBlock(value)).toBe(true));

test.each<unknown>([
  null,
  'text',
  {},
  { type: 'text' },
  { type: 'text', text: 5 },
  { type: 'image', source: null },
  { type: 'image', source: 'https://example.com/a.png' },
  { type: 'image', source: { type: 'url' } },
  { title: 'A page', source: 'the web' },
  { type: 'page', source: { url: 'https://example.com' } },
  { type: 'tool_use', name: 'a' },
  { type: 'tool_result', toolUseId: '1', name: 'a', state: 'success' },
  { type: 'tool_result', toolUseId: '1', name: 'a', output: [{ type: 'text' }], state: 'success' },
])('isBlock() rejects the block %j', (value) => expect(isBlock(value)).toBe(false));
