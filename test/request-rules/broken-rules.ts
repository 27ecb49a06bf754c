import { isRecord, parseJson } from '../../packages/core/src/message/json.ts';
import { aiSdkRules } from './ai-sdk-rules.ts';
import { chatRules } from './chat-rules.ts';
import { dashScopeRules } from './dashscope-rules.ts';
import type { RequestRule, ServerName } from './request-rule.ts';
import { responsesRules } from './responses-rules.ts';
import { wellFormedText } from './text-rules.ts';

/** Format of a request. `json` has only the rules of every server that reads JSON. */
export type RequestWire = 'chat-completions' | 'responses' | 'dashscope' | 'ai-sdk' | 'json';

/** A rule that a request breaks. */
export interface BrokenRule {
  /** Identifies the rule, with its format: `chat-completions/tool-name`. */
  readonly id: string;
  /** What a request must be like, as a sentence. */
  readonly text: string;
  /** Address at which the rule is published. */
  readonly source: string;
  /** Paths of the parts that break it: `messages[2].tool_calls[0].function`. */
  readonly at: readonly string[];
}

const rules: Readonly<Record<RequestWire, readonly RequestRule[]>> = {
  'chat-completions': chatRules,
  responses: responsesRules,
  dashscope: dashScopeRules,
  'ai-sdk': aiSdkRules,
  json: [wellFormedText],
};

/**
 * Returns the rules of its provider that a request breaks. `request` is the body, as an object or
 * as JSON text, or the options of a call of AI SDK. `target` is the address, or the name of AI
 * SDK's provider: OpenAI, Mistral, DeepSeek and Anthropic have more rules than their API.
 */
export function brokenRules(
  wire: RequestWire,
  request: unknown,
  target: string = '',
): readonly BrokenRule[] {
  const value = typeof request === 'string' ? parseJson(request) : request;
  if (!isRecord(value)) return [{ ...jsonObject, id: `${wire}/${jsonObject.id}`, at: ['body'] }];
  const server = serverOf(target);
  return rules[wire].flatMap(({ id, text, source, find }) => {
    const at = find({ path: '', value }, { server, name: target });
    return at.length ? [{ id: `${wire}/${id}`, text, source, at }] : [];
  });
}

/**
 * Returns the option `rules` of `modelConformance()` for a format: a sentence for each rule that a
 * body breaks.
 */
export function rulesOf(wire: RequestWire): (body: string, url: string) => readonly string[] {
  return (body, url) =>
    brokenRules(wire, body, url).map(({ id, text, at, source }) => {
      const places = at.slice(0, 3).join(', ');
      return `${id}: ${text} It is broken at ${places}. Published: ${source}`;
    });
}

const jsonObject = {
  id: 'json-object',
  text: 'The body is a JSON object.',
  source: 'https://platform.openai.com/docs/api-reference/chat/create',
};

/** Servers with more rules, by their host or the name of AI SDK's provider. */
const servers: readonly (readonly [RegExp, ServerName])[] = [
  [/\b(openai|azure)\.com\/|^openai\./, 'openai'],
  [/\bmistral\.ai\/|^mistral\./, 'mistral'],
  [/\bdeepseek\.com\/|^deepseek\./, 'deepseek'],
  [/\banthropic\.com\/|^anthropic\./, 'anthropic'],
];

function serverOf(target: string): ServerName {
  return servers.find(([pattern]) => pattern.test(target))?.[1] ?? 'other';
}
