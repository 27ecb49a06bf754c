import { ReActAgent } from '@isoloop/core';
import { ScriptedModel } from '@isoloop/core/testing';
import { expect, onTestFinished, test } from 'vitest';
import { sentencesLeftBy } from './check.ts';
import { workerdEngine } from './engines.ts';

test('the check names a run, a timer and a rejection of workerd', async () => {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  onTestFinished(() => resolve());
  const left = await sentencesLeftBy(workerdEngine, () => {
    const model = new ScriptedModel([{ text: 'Hi.', wait: () => promise }]);
    void new ReActAgent({ name: 'held', model }).call('Hello.');
    const timer = setTimeout(() => {}, 300_000);
    onTestFinished(() => clearTimeout(timer));
    void Promise.reject(new Error('nobody handles it'));
  });
  const place = 'created at test/left-behind/workerd.test.ts.';
  const sentences = left.map((sentence) =>
    sentence.replace(/, [\w-]{20,},/, ', id,').replace(/:\d+:\d+\.$/, '.'),
  );
  expect(sentences).toEqual([
    `The test left a run (held, id, running) ${place}`,
    `The test left a timer (setTimeout, 300000 ms) ${place}`,
    `The test left an unhandled rejection (Error: nobody handles it) ${place}`,
  ]);
});
