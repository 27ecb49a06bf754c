import {
  assistantMessage,
  outputText,
  ReActAgent,
  textOf,
  tool,
  toolResultsOf,
  toolUsesOf,
  userMessage,
  type AgentOptions,
  type JsonValue,
  type Middleware,
  type ModelRequest,
  type Msg,
  type Tool,
} from '@isoloop/core';
import { retry } from '@isoloop/core/resilience';
import { arcReactor, arcReactorTrim } from '@isoloop/presets';
import { ScriptedModel, type ScriptedReply, type ScriptedStep } from '@isoloop/core/testing';
import { arc } from '@isoloop/core/tokens';
import { outputsOf } from '../test-support.ts';

// What the document of Arc Reactor's executor says, checked through the public API alone.

export type Options = Partial<AgentOptions>;

interface Made {
  readonly agent: ReActAgent;
  readonly model: ScriptedModel;
}

export function make(
  replies: readonly ScriptedReply[],
  { use = [], ...options }: Options = {},
): Made {
  const model = new ScriptedModel(replies);
  const agent = new ReActAgent({ name: 'assistant', model, use: [arcReactor(), use], ...options });
  return { agent, model };
}

/** Creates a tool that records its arguments in `ran` and answers with its name. */
export function named(name: string, ran: JsonValue[] = [], description = `Runs ${name}`): Tool {
  return tool({
    name,
    description,
    input: { type: 'object', properties: { at: { type: 'number' } } },
    execute(input) {
      ran.push(input as JsonValue);
      return `${name} done`;
    },
  });
}

export const calls = (...names: readonly string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ name })),
});

const lineOf = (message: Msg): string =>
  [
    `${message.role}:`,
    textOf(message),
    ...toolUsesOf(message).map(({ name }) => `${name}()`),
    ...toolResultsOf(message).map(({ output }) => outputText(output)),
  ]
    .filter(Boolean)
    .join(' ');

/** Returns the messages of a request without its system prompt, as one line each. */
export const linesOf = (request: ModelRequest | undefined): readonly string[] =>
  (request?.messages ?? []).filter(({ role }) => role !== 'system').map(lineOf);

export const offeredIn = (request: ModelRequest | undefined): readonly string[] =>
  (request?.tools ?? []).map(({ name }) => name);

/** Returns the results that a request shows to the model. */
export const resultsIn = (request: ModelRequest | undefined): readonly string[] =>
  outputsOf(request?.messages ?? []);

export const withoutWaits = (waits: number[] = [], random = 0.5, attempts = 3): Middleware =>
  retry({
    attempts,
    random: () => random,
    sleep: async (ms) => void waits.push(ms),
  });

export const failing = (message: string): ScriptedStep => ({ error: new Error(message) });

/** `tokens` tokens of Latin letters, by the document's estimate. */
export const latin = (tokens: number): string => 'a'.repeat(tokens * 4);

/** Trims to `budget` tokens, beside the tokens of the system prompt. */
export const trimTo = (budget: number): Middleware =>
  arcReactorTrim({ window: budget + 100, reserveOutput: 100, profile: arc });

export const turns = (count: number): readonly Msg[] =>
  Array.from({ length: count }, (_, at) => [
    userMessage(`question ${at + 1}`),
    assistantMessage(`answer ${at + 1}`),
  ]).flat();

export const returned = { throwOnError: false } as const;

export async function textsOf(stream: AsyncIterable<string>): Promise<string> {
  let all = '';
  for await (const text of stream) all += text;
  return all;
}
