import { expect, test } from 'vitest';
import { clearToolResults } from '../../../packages/core/src/context/clear-tool-results.ts';
import { summarizeHistory } from '../../../packages/core/src/context/summarize-history.ts';
import { piiGuard } from '@isoloop/guards';
import { positionHooks, oxygent } from '@isoloop/presets';
import { fromAiSdk } from '../../../packages/core/src/model/ai-sdk/ai-sdk-model.ts';
import { replaceKey } from '../../../packages/core/src/state/state-key.ts';
import { stateKeys } from '../../../packages/core/src/state/state-keys.ts';
import { keywordMemory, longTermMemory } from '@isoloop/recall';
import { MemoryStore } from '../../../packages/core/src/memory/store/memory-store.ts';
import { multiAgent } from '../../../packages/core/src/model/formatter/multi-agent.ts';
import { ScriptedModel } from '../../../packages/core/src/testing/scripted-model.ts';
import { metaTool } from '../../../packages/core/src/tool/set/meta-tool.ts';

type Make = (options: never) => unknown;
const protocol: Make = (given) => oxygent({ protocol: given });
const memory = keywordMemory({ store: new MemoryStore() });
const speakers: Make = (given) => multiAgent(new ScriptedModel([]), given);
const keys: Make = (given) => stateKeys({ own: replaceKey('') }, given);

// A function that passes options on to another function reports errors under its own name.
test.each<[make: Make, options: unknown, message: string]>([
  [summarizeHistory, { maxTokens: 400 }, 'summarizeHistory(): maxTokens: 400 leaves no room'],
  [summarizeHistory, { maxTokens: 1000 }, 'summarizeHistory(): maxTokens: 1000 leaves no room'],
  [summarizeHistory, { maxTokens: 50, summaryTokens: 60 }, 'summarizeHistory(): maxTokens: 50'],
  [summarizeHistory, { maxTokens: 'x' }, 'summarizeHistory(): maxTokens must be'],
  [summarizeHistory, { keep: 'x' }, 'summarizeHistory(): keep must be'],
  [clearToolResults, { keep: 1.5 }, 'clearToolResults(): keep must be a whole number'],
  [clearToolResults, { clearAtLeast: 'x' }, 'clearToolResults(): clearAtLeast must be'],
  [clearToolResults, { clearAtLeast: 1, maxTokens: 'x' }, 'clearToolResults(): maxTokens must be'],
  [oxygent, { shortWeight: -1 }, 'oxygent(): shortWeight must be'],
  [oxygent, { reactWeight: 'x' }, 'oxygent(): reactWeight must be'],
  [oxygent, { order: 1 }, 'oxygent(): order must be'],
  [oxygent, { shortMemorySize: 0.5 }, 'oxygent(): shortMemorySize must be'],
  [oxygent, { shortMemorySize: Infinity }, 'oxygent(): shortMemorySize must be'],
  [oxygent, { memoryMax: 'x' }, 'oxygent(): memoryMax must be'],
  [oxygent, { friendlyErrorText: 5 }, 'oxygent(): friendlyErrorText must be'],
  [protocol, { parse: 5 }, 'oxygent(): protocol: parse must be'],
  [protocol, { check: 5 }, 'oxygent(): protocol: check must be'],
  [protocol, { prompt: 5 }, 'oxygent(): protocol: prompt must be'],
  [protocol, { parallel: 5 }, 'oxygent(): protocol: parallel must be'],
  [positionHooks, [1], 'positionHooks(): each of hooks must be'],
  [
    positionHooks,
    [{ name: 'a' }, { name: 'a' }],
    'positionHooks(): each of hooks: two are named "a"',
  ],
  [piiGuard, { action: 'x' }, 'piiGuard(): action must be'],
  [piiGuard, { kinds: 'x' }, 'piiGuard(): kinds must be'],
  [piiGuard, { kinds: ['x'] }, 'piiGuard(): there is no kind "x"'],
  [piiGuard, { salt: 5 }, 'piiGuard(): salt must be'],
  [piiGuard, { onError: 5 }, 'piiGuard(): onError must be'],
  [piiGuard, { locale: 5 }, 'piiGuard(): locale must be'],
  [piiGuard, { lookahead: 'x' }, 'piiGuard(): lookahead must be'],
  [piiGuard, { onAction: 5 }, 'piiGuard(): onAction must be'],
  [keys, { inputKey: 'x' }, 'stateKeys(): inputKey: there is no state key "x"'],
  [keys, { outputKey: 'x' }, 'stateKeys(): outputKey: there is no state key "x"'],
  [longTermMemory, null, 'The options of longTermMemory() must be'],
  [longTermMemory, { memory: 5 }, 'longTermMemory(): memory must be'],
  [longTermMemory, { memory, select: 5 }, 'longTermMemory(): select must be'],
  [longTermMemory, { memory, limit: 0 }, 'longTermMemory(): limit must be'],
  [longTermMemory, { memory, scope: 'x' }, 'longTermMemory(): scope must be'],
  [keywordMemory, null, 'The options of keywordMemory() must be'],
  [keywordMemory, { store: {} }, 'keywordMemory(): store: get must be'],
  [keywordMemory, { store: new MemoryStore(), maxRecords: 0 }, 'keywordMemory(): maxRecords must'],
  [multiAgent, null, 'multiAgent(): model must be'],
  [speakers, { headerOn: 'x' }, 'multiAgent(): headerOn must be'],
  [metaTool, { name: 5 }, 'metaTool(): name must be'],
  [fromAiSdk, null, 'fromAiSdk()'],
])('%o called with %j reports the function’s and the option’s name', (make, options, message) => {
  expect(() => make(options as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringMatching(new RegExp(`^${message.replace(/[()[\]]/g, '\\$&')}`)),
    }),
  );
});

test('clearToolResults() accepts `keep: Infinity`, which clears no result', () => {
  expect(() => clearToolResults({ keep: Infinity })).not.toThrow();
});
