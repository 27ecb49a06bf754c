import {
  textOf,
  toolResultsOf,
  type ChatModel,
  type ModelDelta,
  type ModelRequest,
  type ToolResult,
} from '@isoloop/core';
import { countMessage, countTools, estimateTokens } from '@isoloop/core/tokens';
import { offlineWindow } from './context-window.ts';
import { languageOf, type Language } from './offline/language.ts';
import { readInvitation } from './offline/read-invitation.ts';
import { asksSurvival, listedNotes, plan, planNext, type PlannedCall } from './offline/plan.ts';
import { asksPlan, planStep } from './offline/todo-plan.ts';
import { helpText, survivalText, wordAnswer } from './offline/word-answer.ts';
import { sleep } from './sleep.ts';

/** The tool with which `structured()` asks for an object. */
const objectTool = 'generate_response';

export interface OfflineModelOptions {
  /** Time between two deltas, in milliseconds. Default: 0. */
  readonly delayMs?: number;
  /** Time before the first delta, in milliseconds. Default: 0. */
  readonly firstDelayMs?: number;
}

/**
 * Creates a chat model that works by rules, without a language model, key or network, so that users
 * can try the demo at once. The rules plan calls of the demo's tools and turn the results into an
 * answer. For other questions, the answer explains the limits of the rules.
 */
export function offlineModel(options: OfflineModelOptions = {}): ChatModel {
  const { delayMs = 0, firstDelayMs = 0 } = options;
  return {
    provider: 'offline',
    modelId: 'offline',
    features: { tools: true, media: [], contextWindow: offlineWindow },
    async *stream(request, { signal }) {
      if (firstDelayMs) await sleep(firstDelayMs, signal);
      for (const deltas of reply(request)) {
        if (delayMs) await sleep(delayMs, signal);
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
  const told = results.filter(
    (result) => result.name !== 'write_todos' && !(steps > 1 && listedNotes(result).length),
  );
  const known = new Set(tools.map(({ name }) => name));
  // An object is asked for as the arguments of this tool.
  const calls = known.has(objectTool)
    ? [{ name: objectTool, input: readInvitation(question) }]
    : callsOf(question, steps, results).filter(({ name }) => known.has(name));
  const text = calls.length ? '' : answerText(question, told, language);

  for (const delta of pieces(text)) yield [{ type: 'text', id: 'text', delta }];
  for (const [index, { name, input }] of calls.entries()) {
    const id = `call_${crypto.randomUUID()}`;
    yield [{ type: 'tool-input', index, id, name, delta: '' }];
    for (const delta of pieces(JSON.stringify(input, null, 1)))
      yield [{ type: 'tool-input', index, delta }];
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
      metadata: { model: 'offline stand-in' },
    },
  ];
}

function callsOf(
  question: string,
  step: number,
  results: readonly ToolResult[],
): readonly PlannedCall[] {
  if (asksPlan(question)) return planStep(question, step);
  if (step === 0) return plan(question);
  return step === 1 ? planNext(question, results) : [];
}

/** Words the answer to a question whose tools have run. */
function answerText(question: string, results: readonly ToolResult[], language: Language): string {
  const explains = asksSurvival(question);
  if (!results.length) return explains ? survivalText(language) : helpText(language);
  const answer = wordAnswer(results, language);
  return explains ? `${answer}\n\n${survivalText(language)}` : answer;
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
