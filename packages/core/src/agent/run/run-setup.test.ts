import { expect, test } from 'vitest';
import type { ChatModel } from '../../model/chat-model.ts';
import { liveRun } from '@test/support/live-run.ts';
import { memberName, middlewareWith } from './run-setup.ts';

const renamed = (mark: string) => (next: ChatModel) => ({
  ...next,
  features: next.features,
  modelId: `${mark}(${next.modelId})`,
  stream: next.stream.bind(next),
});

test('the first middleware is the outermost around the model', () => {
  const { live } = liveRun({ use: [{ wrapModel: renamed('one') }, { wrapModel: renamed('two') }] });
  expect(live.model.modelId).toBe('one(two(scripted))');
});

test('a wrapModel that returns no model is refused by name', () => {
  const wrapModel = (() => undefined) as never;
  expect(() => liveRun({ use: [{ name: 'broken', wrapModel }] })).toThrow(
    /wrapModel\(\) of "broken"/,
  );
});

test('middlewareWith() lists the middleware that has a member, in its order', () => {
  const [one, two] = [
    { wrapTool: async () => null as never },
    { wrapTool: async () => null as never },
  ];
  const { setup } = liveRun({ use: [one, { name: 'without' }, two] }).live;
  expect(middlewareWith(setup, 'wrapTool')).toEqual([one, two]);
  expect(middlewareWith(setup, 'wrapRound')).toEqual([]);
});

test('memberName() names a member for errors, also of middleware without a name', () => {
  expect(memberName('wrapTool', { name: 'limits' })).toBe('wrapTool() of "limits"');
  expect(memberName('mapEvent', {})).toBe('mapEvent() of "unnamed"');
});
