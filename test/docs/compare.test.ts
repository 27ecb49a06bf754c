import { estimateTokens, o200k } from '@isoloop/core/tokens';
import { readFileSync } from 'node:fs';
import { estimateTokenCount } from 'tokenx';
import { expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';
import { readSegments } from '../../scripts/tokens/corpus.ts';
import { accuracyByGroup, accuracyOf, errorsOf } from '../../scripts/tokens/measure.ts';

const compare = readFileSync(`${root}/docs/compare.md`, 'utf8');
const results = readFileSync(`${root}/bench/RESULTS.md`, 'utf8');

/** Returns the cells of the row whose first cell contains `name`, in the section of a heading. */
function row(markdown: string, heading: string, name: string): readonly string[] {
  const section = markdown.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const line = section.split('\n').find((text) => text.startsWith('|') && text.includes(name));
  if (line === undefined) throw new Error(`"${heading}" has no row "${name}".`);
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll('`', '').trim());
}

test.each([
  'one answer of 2,000 text deltas',
  '10 model turns, one tool call each',
  '8 parallel tool calls',
  '100 model turns with tool results of 4 KB',
])('the comparison has the CPU ratios of the benchmark: %s', (work) => {
  const heading = 'node 24.21.0: ratios';
  const names = row(results, heading, 'CPU over the floor');
  const ratios = row(results, heading, work);
  const measured = ['isoloop', 'openai-raw', 'ai-sdk'].map((name) => ratios[names.indexOf(name)]);
  expect(row(compare, 'CPU of the loop', work).slice(1)).toEqual(measured);
});

test('the comparison has the cold starts and the sizes of a page of the benchmark', () => {
  const cold = (name: string) =>
    row(results, 'workerd 1.20261023.1: endpoint, cold start', name)[1];
  expect(compare).toContain(
    `needs ${cold('the endpoint')} ms of CPU until its first answer after a cold start, ` +
      `and one with AI SDK ${cold('ai-sdk')} ms. An empty Worker needs ${cold('empty:')} ms.`,
  );
  const [, ours, ourLines] = row(results, 'one chat page', 'isoloop');
  const [, theirs, theirLines] = row(results, 'one chat page', 'AI SDK');
  expect(compare).toContain(`needs ${ours} kB beside React with Isoloop, and ${theirs} kB`);
  expect(compare).toContain(`has ${ourLines} lines and ${theirLines} lines.`);
});

test.each([
  ['Isoloop, `o200k`', (text: string) => estimateTokens(text, o200k)],
  ['`tokenx`', (text: string) => estimateTokenCount(text)],
  ['characters / 4', (text: string) => text.length / 4],
] as const)('the comparison has the measured errors of %s', (name, estimate) => {
  const held = readSegments('held');
  const errors = errorsOf(held, 'o200k', estimate);
  const groups = accuracyByGroup(held, errors);
  const means = ['korean', 'japanese', 'zh-simpl', 'english'].map(
    (group) => groups.get(group)!.mean,
  );
  expect(row(compare, 'Error of token estimates', name).slice(1)).toEqual(
    [accuracyOf(errors).mean, ...means].map((mean) => `${(100 * mean).toFixed(1)} %`),
  );
  expect(compare).toContain(`on ${held.length.toLocaleString('en')} texts`);
});
