import { checkOptions } from '@isoloop/core/options';
import { textOf } from '@isoloop/core';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextRequest,
  type FitContextOptions,
  type TrimRules,
  fitContextOptions,
  groupOf,
  trimRequest,
  requestMeter,
  type RequestMeter,
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
  checkOptions(where, options, fitContextOptions);
  const { profile = arc, roundTo = 0 } = options;
  const partMeter = requestMeter(where, { ...options, profile: textAlone(profile) });
  const meter: RequestMeter = (request) => {
    const size = partMeter(request);
    const rest = promptRest(request, profile);
    return { ...size, fixedTokens: size.fixedTokens + rest, budget: size.budget - rest };
  };
  return contextPolicy({
    name: 'fitContext',
    fit: (request) => trimRequest({ ...request, tools: [] }, meter, { roundTo, rules }),
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
  trimEnd(messages, { budget, questionIndex, start }, from) {
    const { length } = messages;
    if (budget <= 0 && questionIndex >= start) return length;
    const [newest] = groupOf(messages, length - 1, from);
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
