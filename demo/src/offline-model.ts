import {
  textOf,
  toolResultsOf,
  type ChatModel,
  type ModelDelta,
  type ModelRequest,
} from '@isoloop/core';
import { countMessage, countTools, estimateTokens } from '@isoloop/core/tokens';
import { languageOf } from './offline/language.ts';
import { listedNotes, plan, planNext } from './offline/plan.ts';
import { helpText, wordAnswer } from './offline/word-answer.ts';

export interface OfflineModelOptions {
  /** Time between two deltas, in milliseconds, so that users see the answer stream. Default: 15. */
  readonly delayMs?: number;
}

/**
 * Creates a chat model that works by rules, without a language model, key or network, so that users
 * can try the demo at once. The rules plan calls of the demo's tools and turn the results into an
 * answer. For other questions, the answer explains the limits of the rules.
 */
export function offlineModel({ delayMs = 15 }: OfflineModelOptions = {}): ChatModel {
  return {
    provider: 'offline',
    modelId: 'offline',
    features: { tools: true, media: [] },
    async *stream(request, { signal }) {
      for (const deltas of reply(request)) {
        if (delayMs) await wait(delayMs, signal);
        signal.throwIfAborted();
        yield deltas;
      }
    },
  };
}

function* reply({ messages, tools }: ModelRequest): Generator<readonly ModelDelta[]> {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const question = messages[asked] ? textOf(messages[asked]) : '';
  const language = languageOf(question);
  const since = messages.slice(asked + 1);
  const steps = since.filter(({ role }) => role === 'assistant').length;
  const results = since.flatMap(toolResultsOf);
  // To delete notes, the rules first list all notes. The answer omits that list, because the user
  // did not ask for it.
  const told = steps > 1 ? results.filter((result) => !listedNotes(result).length) : results;
  const known = new Set(tools.map(({ name }) => name));
  const planned = steps === 0 ? plan(question) : steps === 1 ? planNext(question, results) : [];
  const calls = planned.filter(({ name }) => known.has(name));
  const text = calls.length ? '' : results.length ? wordAnswer(told, language) : helpText(language);

  for (const delta of pieces(text)) yield [{ type: 'text', id: 'text', delta }];
  for (const [index, { name, input }] of calls.entries()) {
    const id = `call_${crypto.randomUUID()}`;
    yield [{ type: 'tool-input', index, id, name, delta: '' }];
    for (const delta of pieces(JSON.stringify(input))) yield [{ type: 'tool-input', index, delta }];
  }
  // An estimate, so that the total usage is not zero.
  const inputTokens = messages.reduce(
    (sum, message) => sum + countMessage(message),
    countTools(tools),
  );
  const outputTokens = estimateTokens(text + JSON.stringify(calls));
  yield [
    {
      type: 'finish',
      reason: calls.length ? 'tool_calls' : 'stop',
      usage: { inputTokens, outputTokens },
    },
  ];
}

/**
 * Splits a text into words. Chinese and Japanese texts have no spaces, so they are split into pairs
 * of characters.
 */
function pieces(text: string): readonly string[] {
  return (
    text.match(
      /[\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff\uff00-\uffef\u3000-\u303f]+\s*|\s+/g,
    ) ?? []
  );
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
