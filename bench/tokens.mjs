// `npm run bench -- tokens` measures the speed of the token estimators on the held-out texts, all
// in this process, with interleaved repetitions. Then it measures the time for 1 MB and 10 MB of
// unusual text.
import { readFileSync } from 'node:fs';
import { estimateTokenCount } from 'tokenx';
import { arc, estimateTokens, o200k } from '../packages/core/dist/tokens/index.js';
import { workload } from './lib/workload.mjs';

const reps = workload(9, 1);
const estimators = {
  'isoloop, o200k': (text) => estimateTokens(text, o200k),
  'isoloop, arc': (text) => estimateTokens(text, arc),
  'tokenx 2.2': estimateTokenCount,
};

const segments = readFileSync(`${import.meta.dirname}/../test/fixtures/tokens/held.jsonl`, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const sets = {
  'all scripts': () => true,
  'English, code, JSON': ({ l }) =>
    /^(en-|json|tool-|js$|ts$|py$|jvm$|cpp$|rust$|go$|shyaml$)/.test(l),
  'Chinese, Japanese, Korean': ({ l }) => /^(zh-|ja$|ko$)/.test(l),
};

const awkward = {
  base64: () => 'iVBORw0KGgoAAAANSUhEUgAAB9oAAAaQCAIAAAB+',
  letters: () => 'a',
  spaces: () => ' ',
  newlines: () => '\n',
  digits: () => '7',
  punctuation: () => '{[("',
  emoji: () => '👩‍👩‍👧‍👦👍🏽',
  'lone surrogates': () => '\ud83d\ude00\ud83d\udc00\udc00',
  'control characters': () => '\u0000\u0007\u001b',
  Korean: () => '안녕하세요ㅋㅋ ',
};

export function benchTokens() {
  console.log(
    `Node ${process.version}. MB of UTF-8 per CPU second, median of ${reps} (range). One call per text of 40 to 1,500 characters.`,
  );
  for (const [name, includes] of Object.entries(sets)) {
    const texts = segments.filter(includes).map(({ t }) => t);
    console.log(`\n${name}: ${texts.length} texts`);
    printSpeeds(speeds(texts));
  }
  console.log(
    '\nCPU milliseconds for 1 MB and 10 MB (UTF-16 units) in one call, isoloop with o200k: ten times as much takes about ten times as long.',
  );
  for (const [name, unit] of Object.entries(awkward)) {
    const [one, ten] = [1e6, 1e7].map((length) => timeOf(unit(), length));
    console.log(
      `  ${name.padEnd(20)} ${one.toFixed(2).padStart(8)} ${ten.toFixed(2).padStart(8)}   ratio ${(ten / one).toFixed(1)}`,
    );
  }
}

/**
 * Measures the speed of each estimator in each repetition, in MB per CPU second. The order of the
 * estimators rotates.
 */
function speeds(texts) {
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const names = Object.keys(estimators);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let rep = -workload(2, 0); rep < reps; rep++) {
    for (const [turn] of names.entries()) {
      const name = names[(turn + rep + names.length) % names.length];
      const speed = bytes / 1e3 / passMs(estimators[name], texts);
      if (rep >= 0) samples[name].push(speed);
    }
  }
  return samples;
}

/** Returns the mean CPU milliseconds of a pass over all texts. Starts new passes for 50 ms. */
function passMs(estimate, texts) {
  const begin = process.cpuUsage();
  let passes = 0;
  let tokens = 0;
  while (cpuMs(begin) < 50) {
    for (const text of texts) tokens += estimate(text);
    passes++;
  }
  if (tokens === 0) throw new Error('Nothing was counted.');
  return cpuMs(begin) / passes;
}

/**
 * Returns the CPU milliseconds since `begin`. CPU time depends less on other processes than wall
 * time.
 */
function cpuMs(begin) {
  const { user, system } = process.cpuUsage(begin);
  return (user + system) / 1000;
}

function printSpeeds(samples) {
  const base = median(samples['tokenx 2.2']);
  for (const [name, values] of Object.entries(samples)) {
    const range = `(${Math.min(...values).toFixed(0)} to ${Math.max(...values).toFixed(0)})`;
    const speed = median(values);
    console.log(
      `  ${name.padEnd(20)} ${speed.toFixed(0).padStart(5)} ${range.padEnd(14)} ${(speed / base).toFixed(1)} × tokenx`,
    );
  }
}

function timeOf(unit, length) {
  // `repeat` builds a rope (a string of linked parts). The conversion to bytes and back makes a
  // flat string, so that the measured call does not have to.
  const text = Buffer.from(
    unit.repeat(Math.ceil(length / unit.length)).slice(0, length),
    'utf16le',
  ).toString('utf16le');
  const times = Array.from({ length: 5 }, () => {
    const begin = process.cpuUsage();
    estimateTokens(text, o200k);
    return cpuMs(begin);
  });
  return median(times);
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
