import { expect, test } from 'vitest';
import { randomOf } from '@test/random-of.ts';
import { fieldsFor } from '../../message/provider-metadata.ts';
import { seeds } from '@test/test-extent.ts';
import { keepFields, keptMetadata, type KeptFields } from './kept-fields.ts';

function keep(...deltas: readonly object[]): unknown {
  const fields: KeptFields = {};
  for (const delta of deltas) keepFields(fields, delta);
  const metadata = keptMetadata('a.test', fields);
  return metadata && fieldsFor('a.test', { providerMetadata: metadata });
}

const details = (...parts: readonly object[]): object => ({ reasoning_details: parts });
const blocks = (...parts: readonly object[]): object => ({ thinking_blocks: parts });

const claude = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const gpt = { type: 'reasoning.summary', format: 'openai-responses-v1', index: 0 };
const encrypted = { type: 'reasoning.encrypted', format: 'openai-responses-v1', index: 0 };
const gemini = { type: 'reasoning.encrypted', format: 'google-gemini-v1', index: 0 };

test.for<readonly [server: string, deltas: readonly object[], fields: object]>([
  [
    'OpenRouter with a signature at the end',
    [
      details({ ...claude, text: 'I ' }),
      details({ ...claude, text: 'ask.' }),
      details({ ...claude, text: '', signature: 'sig' }),
    ],
    details({ ...claude, text: 'I ask.', signature: 'sig' }),
  ],
  [
    'OpenRouter with several summaries and encrypted reasoning',
    [
      details({ ...gpt, summary: '**A' }),
      details({ ...gpt, summary: '**' }),
      details({ ...gpt, index: 1, summary: 'B' }),
      details({ ...encrypted, id: 'rs_1', data: 'ZZ' }),
      details({ ...encrypted, id: 'rs_1', data: 'ZZ' }),
    ],
    details(
      { ...gpt, summary: '**A**' },
      { ...gpt, index: 1, summary: 'B' },
      { ...encrypted, id: 'rs_1', data: 'ZZ' },
    ),
  ],
  [
    'OpenRouter with encrypted data of two calls at one index, and in two pieces',
    [
      details({ ...gemini, id: 'call_1', data: 'A' }, { ...gemini, id: 'call_2', data: 'B' }),
      details({ ...gemini, id: 'call_2', data: 'C' }),
    ],
    details({ ...gemini, id: 'call_1', data: 'A' }, { ...gemini, id: 'call_2', data: 'BC' }),
  ],
  [
    'a server that numbers no items',
    [
      details({ type: 'reasoning.text', text: 'a' }),
      details({ type: 'reasoning.text', text: 'b' }, { type: 'reasoning.text', text: 'c' }),
      details({ type: 'reasoning.encrypted', data: 'A' }),
      details({ type: 'reasoning.encrypted', data: 'B' }),
    ],
    details(
      { type: 'reasoning.text', text: 'ab' },
      { type: 'reasoning.text', text: 'c' },
      { type: 'reasoning.encrypted', data: 'A' },
      { type: 'reasoning.encrypted', data: 'B' },
    ),
  ],
  [
    'LiteLLM with interleaved and redacted thinking',
    [
      blocks({ type: 'thinking', thinking: 'a', signature: '' }),
      blocks({ type: 'thinking', thinking: 'b', signature: null }),
      blocks({ type: 'thinking', thinking: '', signature: 's1' }),
      blocks({ type: 'redacted_thinking', data: 'X' }),
      blocks({ type: 'redacted_thinking', data: 'Y' }),
      blocks({ type: 'thinking', thinking: 'c' }),
      blocks({ type: 'thinking', thinking: null, signature: 's2' }),
      blocks({ type: 'thinking', thinking: 'no signature' }),
    ],
    blocks(
      { type: 'thinking', thinking: 'ab', signature: 's1' },
      { type: 'redacted_thinking', data: 'X' },
      { type: 'redacted_thinking', data: 'Y' },
      { type: 'thinking', thinking: 'c', signature: 's2' },
    ),
  ],
  [
    'Gemini with flags of a delta',
    [
      { extra_content: { google: { thought: true } } },
      { extra_content: { google: { thought_signature: 'early' } } },
      { extra_content: null },
      { extra_content: { google: { thought_signature: 'late' } } },
    ],
    { extra_content: { google: { thought_signature: 'late' } } },
  ],
  [
    'LiteLLM with fields that other providers refuse',
    [
      { provider_specific_fields: { refusal: null, citations: [{ url: 'x' }] } },
      { provider_specific_fields: { thought_signatures: ['a'] } },
      { provider_specific_fields: { thought_signatures: ['b'] } },
    ],
    { provider_specific_fields: { thought_signatures: ['a', 'b'] } },
  ],
])('keepFields() joins what comes from %s', ([, deltas, fields]) => {
  expect(keep(...deltas)).toEqual(fields);
});

test('nothing is kept of a reply with only usual or empty fields', () => {
  const empty = { reasoning_details: [], thinking_blocks: null, extra_content: {} };
  expect(keep({ content: 'a', role: 'assistant', audio: { id: 'x' } }, empty)).toBeUndefined();
  expect(keep({ provider_specific_fields: { refusal: null } })).toBeUndefined();
  expect(keep({ extra_content: { google: { thought: true } } })).toBeUndefined();
  expect(keep(blocks({ type: 'thinking', thinking: 'cut' }))).toBeUndefined();
});

test('a field named like the prototype changes no other object', () => {
  const polluted = JSON.parse('{"a":"b","__proto__":{"isAdmin":"yes"}}') as object;
  expect(keep({ extra_content: polluted })).toEqual({ extra_content: { a: 'b' } });
  expect(keep(details(polluted))).toEqual(details({ a: 'b' }));
  expect(Object.prototype).not.toHaveProperty('isAdmin');
});

test("Copilot's thinking is kept only with its signature", () => {
  const [text, rest] = [{ reasoning_text: 'H' }, { reasoning_text: 'm' }];
  expect(keep(text, rest)).toBeUndefined();
  const signature = { reasoning_opaque: 's' };
  expect(keep(text, rest, signature)).toEqual({ reasoning_text: 'Hm', ...signature });
});

test('numbered reasoning is the same however it is split, and any value is read without an error', () => {
  for (const seed of seeds({ quick: 300, full: 5000 })) {
    const next = randomOf(seed);
    const random = (below: number): number => Math.floor(next() * below);
    const whole = Array.from({ length: 1 + random(4) }, (_, index) => ({
      ...(random(2) ? { type: 'reasoning.text', text: 'abc def' } : { ...gpt, summary: 'x y z' }),
      index,
      signature: `s${index}`,
    }));
    const deltas = whole.flatMap(({ signature, ...item }) => {
      const [name, value] = 'text' in item ? ['text', item.text!] : ['summary', item.summary!];
      const cut = random(value.length + 1);
      return [
        details({ ...item, [name]: value.slice(0, cut) }),
        details({ ...item, [name]: value.slice(cut), ...(random(2) && { signature: '' }) }),
        details({ type: item.type, index: item.index, signature }),
      ];
    });
    expect(keep(...deltas), `seed ${seed}`).toEqual(details(...whole));
  }
  for (const odd of [1, 'a', true, [1, null, 'a', [2]], { a: [{}] }, [{ type: 1, index: {} }]])
    for (const name of ['reasoning_details', 'thinking_blocks', 'extra_content'])
      expect(() => keep({ [name]: odd }, { [name]: odd }, { [name]: [{}] })).not.toThrow();
});
