import { checkFields, optional, withMethod } from '@isoloop/core/options';
import { textOf } from '@isoloop/core';
import {
  contextPolicy,
  trimContext,
  type ContextMiddleware,
  type ContextRequest,
  type FitContextOptions,
  type TrimRules,
} from '@isoloop/core/context';
import { arc, type TokenProfile } from '@isoloop/core/tokens';

/**
 * Same as `fitContext()`, but counts and trims exactly as Arc Reactor does. Does not count tools,
 * media and thinking, so a request may be longer than the window. The remaining history may begin
 * with an answer. Even the newest tool results may be left out; the model then repeats the tool
 * calls. Default of `roundTo`: 0. Throws `CONFIGURATION` as `fitContext()` does.
 */
export function arcReactorTrim(options: FitContextOptions = {}): ContextMiddleware {
  const where = 'arcReactorTrim()';
  checkFields(where, options, { profile: optional(withMethod('countText')) });
  const { profile = arc, roundTo = 0 } = options;
  const { fit } = trimContext(
    where,
    { ...options, roundTo, profile: textAlone(profile) },
    { ...rules, missingTokens: (request) => promptRest(request, profile) },
  );
  return contextPolicy({
    name: 'fitContext',
    fit: (request) => fit({ ...request, tools: [] }),
  });
}

/**
 * Returns the tokens of the whole system prompt that the counts of its parts lack. The estimate
 * rounds each text, and the model gets the format of the answer within the system prompt.
 */
function promptRest({ messages, addedLater = [] }: ContextRequest, profile: TokenProfile): number {
  const parts = [...messages.slice(0, 1), ...addedLater].filter(({ role }) => role === 'system');
  if (parts.length < 2) return 0;
  const texts = parts.map(textOf);
  const counted = texts.reduce((sum, text) => sum + profile.countText(text), 0);
  return profile.countText(texts.join('\n\n')) - counted;
}

const rules: TrimRules = {
  keepsResultsWithQuestion: false,
  beginsWithUser: false,
  trimEnd({ messages, hasQuestion, budget, startOfGroup }) {
    const { length } = messages;
    if (budget <= 0 && hasQuestion) return length;
    const newest = startOfGroup(length - 1);
    // The newest group stays only if it is a single message.
    return newest < length - 1 ? length : newest;
  },
};

/** Returns a profile that counts only texts, tool calls and tool results. */
function textAlone(profile: TokenProfile): TokenProfile {
  return {
    name: profile.name,
    countText: (text) => profile.countText(text),
    perMessage: 0,
    perToolCall: 0,
    perMedia: 0,
    thinking: false,
  };
}
