import { checkOptions } from '../error/agent-error.ts';
import { contextPolicy, type ContextMiddleware } from '../middleware/context/context-policy.ts';
import {
  type FitContextOptions,
  type TrimRules,
  fitContextFields,
  groupOf,
  trimRequest,
} from '../middleware/context/fit-context.ts';
import { requestMeter } from '../middleware/context/request-meter.ts';
import { arc } from '../tokens/arc-profile.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';

/**
 * Same as `fitContext()`, but counts and trims exactly as Arc Reactor does. Does not count tools,
 * media and thinking, so a request may be longer than the window. The remaining history may begin
 * with an answer. Even the newest tool results may be left out; the model then repeats the tool
 * calls. Default of `roundTo`: 0. Throws `CONFIGURATION` as `fitContext()` does.
 */
export function arcReactorTrim(options: FitContextOptions = {}): ContextMiddleware {
  const where = 'arcReactorTrim()';
  checkOptions(where, options, fitContextFields);
  const { profile = arc, roundTo = 0 } = options;
  const meter = requestMeter(where, { ...options, profile: textAlone(profile) });
  return contextPolicy({
    name: 'fitContext',
    fit: (request) => trimRequest({ ...request, tools: [] }, meter, { roundTo, rules }),
  });
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
