import { checkOptions } from '../../error/check-fields.ts';
import {
  contextPolicy,
  type ContextMiddleware,
  type ContextRequest,
  type FittedContext,
} from './context-policy.ts';
import { arc } from '../../tokens/arc-profile.ts';
import type { TokenProfile } from '../../tokens/token-profile.ts';
import { findTrim } from './find-trim.ts';
import { RequestMeter, windowFields, type WindowOptions } from './meter/request-meter.ts';

/** How large a request of `fitContext()` may be, and what stays in it. */
export interface FitContextOptions extends WindowOptions {
  /**
   * Step of the cuts, in tokens: the number of tokens left out is rounded up to a multiple of this
   * number. The trimmed history then begins at the same place for many requests. Default: a tenth of the window.
   */
  readonly step?: number;
  /**
   * True: counts and cuts exactly as Arc Reactor does, and `step` defaults to 0. Arc Reactor does
   * not count tools, media and thinking, so a request may be longer than the window. The remaining
   * history may begin with an answer. Even the newest tool results may be left out; the model then
   * repeats the tool calls. Default false: the history begins with a user's message, and the newest
   * results stay.
   */
  readonly reference?: boolean;
}

/**
 * Leaves out old messages so that a request fits in the model's window. The oldest messages before
 * the current prompt go first, then the oldest steps after it. A tool call and its results are left
 * out together. The system prompt, recalled messages, the current prompt and the newest tool
 * results always stay. If these alone are too long, the model's server has to reject the request.
 * Each message is counted once, so a request costs only the count of its new messages.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind, a number below 0, or a window that is not
 * larger than `reserveOutput`.
 */
export function fitContext(options: FitContextOptions = {}): ContextMiddleware {
  const fields = `step:count|? reference:boolean|? ${windowFields}`;
  checkOptions('fitContext()', options, fields);
  const { reference = false, profile = arc } = options;
  const meter = new RequestMeter(
    'fitContext()',
    reference ? { ...options, profile: textAlone(profile) } : options,
  );
  const counted = (request: ContextRequest): ContextRequest =>
    reference ? { ...request, tools: [] } : request;
  return contextPolicy({
    name: 'fitContext',
    fit: (request) => trimRequest(counted(request), meter, options),
  });
}

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

/** Returns the request without the messages that do not fit in the window. */
export function trimRequest(
  request: ContextRequest,
  meter: RequestMeter,
  options: FitContextOptions = {},
): FittedContext {
  const { messages } = request;
  const { reference = false } = options;
  const { window, start, prompt, sums, fixed, budget, corrected } = meter.measure(request);
  const total = fixed + sums[messages.length]! - sums[start]!;
  const { step = reference ? 0 : Math.floor(window / 10) } = options;
  const trim = { budget, prompt, step, start, reference };
  const { history, promptEnd, turn } = findTrim(messages, sums, trim);
  const removed = history - start + (turn - promptEnd);
  const left = total - (sums[history]! - sums[start]!) - (sums[turn]! - sums[promptEnd]!);
  const kept = removed
    ? [...messages.slice(0, start), ...messages.slice(history, promptEnd), ...messages.slice(turn)]
    : messages;
  return { messages: kept, removed, before: corrected(total), after: corrected(left) };
}
