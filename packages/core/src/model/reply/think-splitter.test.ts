import { expect, test } from 'vitest';
import { randomOf } from '@test/random-of.ts';
import { seeds } from '@test/test-extent.ts';
import { joined } from '@test/support/model-outcome.ts';
import type { ModelDelta } from '../chat-model.ts';
import { ThinkSplitter } from './think-splitter.ts';

const textDelta = (delta: string): ModelDelta => ({ type: 'text', id: 'text-0', delta });

/** Returns the deltas that remain of a reply after the last reset. */
function split(...deltas: readonly ModelDelta[]): readonly ModelDelta[] {
  const splitter = new ThinkSplitter();
  const out: ModelDelta[] = [];
  for (const delta of deltas) splitter.take(delta, out);
  splitter.end(out);
  return out.slice(out.findLastIndex(({ type }) => type === 'reset') + 1);
}

function partsOf(pieces: readonly string[]): readonly [thinking: string, text: string] {
  const { thinking, text } = joined(split(...pieces.map(textDelta)));
  return [thinking, text];
}

const replies: readonly (readonly [reply: string, thinking: string, text: string])[] = [
  ['<think>\nHm.\n</think>\n\nHi', 'Hm.\n', 'Hi'],
  ['\n<think>Hm.\n\nSo.</think>Hi ', 'Hm.\n\nSo.', 'Hi '],
  ['<think>\n\n</think>\n\nHi', '', 'Hi'],
  ['Hm.\n</think>\n\nHi', 'Hm.\n', 'Hi'],
  ['</think>Hi', '', 'Hi'],
  ['<think>Hm. 1 < 2, <b', 'Hm. 1 < 2, <b', ''],
  ['<think>a</think>The tags are <think> and </think>.', 'a', 'The tags are <think> and </think>.'],
  ['Write <think> first.', '', 'Write <think> first.'],
  ['  Hi\n', '', 'Hi\n'],
  ['1 < 2 <thi', '', '1 < 2 <thi'],
  ['<thin>Hi</thin>', '', '<thin>Hi</thin>'],
  [' \n', '', ''],
  ['<think>😀 </think> 天气', '😀 ', '天气'],
  ['<seed:think>\nHm.</seed:think>Hi', 'Hm.', 'Hi'],
  ['[THINK]Hm [/think] [1][/THINK]391', 'Hm [/think] [1]', '391'],
  ['<thinking>Hm. </think></thinking>391', 'Hm. </think>', '391'],
  ['Hm.</seed:think>Hi [THINK]', 'Hm.', 'Hi [THINK]'],
  ['[1] <thinker> </thinker>', '', '[1] <thinker> </thinker>'],
];

test.each(replies)('%j has the thinking %j and the text %j', (reply, thinking, text) => {
  expect(partsOf([reply])).toEqual([thinking, text]);
  for (let cut = 0; cut <= reply.length; cut += 1)
    expect(partsOf([reply.slice(0, cut), reply.slice(cut)])).toEqual([thinking, text]);
  expect(partsOf([...reply].flatMap((c) => c.split('')))).toEqual([thinking, text]);
});

/** Returns a text without tags and white space. Without one tag, others may appear. */
function letters(text: string): string {
  const shorter = text.replace(/<\/?think>|\s/g, '');
  return shorter === text ? text : letters(shorter);
}

const words = ['<think>', '</think>', '<', '</', 'think>', ' ', '\n', 'a', 'b c', '😀'];

test('the parts do not depend on how a reply is split, and only tags and white space are lost', () => {
  for (const seed of seeds({ quick: 500, full: 10_000 })) {
    const next = randomOf(seed);
    const random = (below: number): number => Math.floor(next() * below);
    const reply = Array.from({ length: 1 + random(12) }, () => words[random(words.length)]!);
    const whole = partsOf([reply.join('')]);
    expect(partsOf(reply), `seed ${seed}`).toEqual(whole);
    expect(partsOf(reply.join('').split('')), `seed ${seed}`).toEqual(whole);
    expect(letters(whole.join('')), `seed ${seed}`).toBe(letters(reply.join('')));
  }
});

test('thinking is sent at once, and text without a tag too', () => {
  const splitter = new ThinkSplitter();
  const out: ModelDelta[] = [];
  const read = (delta: string): readonly ModelDelta[] => {
    splitter.take(textDelta(delta), out);
    return out.splice(0);
  };
  expect(read('<thi')).toEqual([]);
  expect(read('nk>So ')).toEqual([{ type: 'thinking', id: 'thought', delta: 'So ' }]);
  expect(read('it is')).toEqual([{ type: 'thinking', id: 'thought', delta: 'it is' }]);
  expect(read('</think>\n\n4')).toEqual([{ type: 'text', id: 'text-0', delta: '4' }]);
});

test('a missing start tag takes back the text, which was thinking', () => {
  const splitter = new ThinkSplitter();
  const out: ModelDelta[] = [];
  splitter.take(textDelta('Hm. '), out);
  splitter.take(textDelta('</think>Hi'), out);
  expect(out).toEqual([
    { type: 'text', id: 'text-0', delta: 'Hm. ' },
    { type: 'reset', reason: 'protocol' },
    { type: 'thinking', id: 'thought', delta: 'Hm. ' },
    { type: 'text', id: 'text-0', delta: 'Hi' },
  ]);
});

test('tags are text after a tool call', () => {
  const call: ModelDelta = { type: 'tool-input', index: 0, name: 'f', delta: '{}' };
  const tagged = textDelta('<think>a</think>');
  expect(split(call, tagged)).toEqual([call, tagged]);
  expect(split(textDelta('<think>a'), call)).toEqual([
    { type: 'thinking', id: 'thought', delta: 'a' },
    call,
  ]);
  expect(split(textDelta('a<'), call)).toEqual([textDelta('a'), textDelta('<'), call]);
});

// MiniMax: https://github.com/can1357/oh-my-pi/pull/2434
test('thinking that the server sends by itself and within the text comes once', () => {
  const thinking = (delta: string): ModelDelta => ({ type: 'thinking', id: 'thinking-0', delta });
  const first = [thinking('Hm'), textDelta('<think>Hm')];
  const last = [thinking('.'), textDelta('.</think>\nHi')];
  expect(split(...first, ...last)).toEqual([thinking('Hm'), thinking('.'), textDelta('Hi')]);
  const html = textDelta('Hi </think>');
  expect(split(thinking('Hm'), html)).toEqual([
    thinking('Hm'),
    textDelta('Hi '),
    textDelta('</think>'),
  ]);
});

test('a long reply can be read one character at a time', () => {
  for (const part of ['<', '<think>', '</think>', ' ', 'a '])
    expect(
      partsOf(['<think>', ...part.repeat(100_000 / part.length)]).join('').length,
    ).toBeLessThan(100_001);
});
