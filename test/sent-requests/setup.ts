import { aroundAll, aroundEach } from 'vitest';
import type { BrokenRule } from '../request-rules/broken-rules.ts';
import {
  channelName,
  newScope,
  noteBroken,
  registry,
  sentencesOf,
  type Scope,
} from './registry.ts';

// Fails each test that sends a request which its provider refuses, and each file whose hooks do.
const state = registry();
const file = newScope();
state.isWatched = true;
state.scope = file;

aroundEach(async (runTest) => {
  const test = newScope();
  state.scope = test;
  try {
    await runTest();
  } finally {
    state.scope = file;
  }
  check(test);
});

aroundAll(async (runFile) => {
  state.scope = file;
  const channel = pageChannel();
  try {
    await runFile();
  } finally {
    channel?.close();
  }
  check(file);
});

/** Returns a channel on which the workers of a page say which rules their requests break. */
function pageChannel(): BroadcastChannel | undefined {
  if (typeof document === 'undefined') return undefined;
  const channel = new BroadcastChannel(channelName);
  channel.addEventListener('message', ({ data }: MessageEvent<readonly BrokenRule[]>) =>
    noteBroken(data),
  );
  return channel;
}

function check(scope: Scope): void {
  const sentences = sentencesOf(scope);
  if (!sentences.length) return;
  const error = new Error(sentences.join('\n'));
  // The place that found it says nothing.
  error.stack = `${error.name}: ${error.message}`;
  throw error;
}
