import { assistantMessage, userMessage } from '@isoloop/core';
import type { SessionView } from '@isoloop/core/log';
import { expect, test } from 'vitest';
import { earlierResult, lastResult } from './logged-result.ts';

const answer = (finishReason: string) =>
  assistantMessage('Half', { id: 'answer', metadata: { finishReason } });

const viewWith = (finishReason: string) =>
  ({
    messages: [userMessage('Go.'), answer(finishReason)],
    calls: new Map(),
  }) as unknown as SessionView;

test.each([
  ['stop', undefined],
  ['length', 'length'],
  ['content_filter: PROHIBITED_CONTENT', 'filtered'],
  ['a_new_reason', 'other'],
])('a result from the log whose reply ended with %s is incomplete: %s', (reason, incomplete) => {
  const view = viewWith(reason);
  for (const result of [lastResult(view), earlierResult(view, 'answer')]) {
    expect(result).toMatchObject({ text: 'Half', reason: 'stop' });
    expect(result.incomplete).toBe(incomplete);
  }
});
