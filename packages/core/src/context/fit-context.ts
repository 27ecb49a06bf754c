import { checkFields } from '../error/check-fields.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from '../loop/context-policy.ts';
import { arc } from '../tokens/arc-profile.ts';
import type { TokenProfile } from '../tokens/token-profile.ts';
import { findCut } from './find-cut.ts';
import { RequestMeter, type WindowOptions } from './meter/request-meter.ts';

export interface FitContextOptions extends WindowOptions {
  /**
   * Cuts come in multiples of this many tokens, so that the cut stays in place for many requests.
   * Default: a tenth of the window.
   */
  readonly step?: number;
  /**
   * True: counts and cuts exactly as Arc Reactor does (see `TrimOptions`), with a default step of 0.
   * It counts neither tools nor media nor thinking, so a request may be longer than the window.
   * Default false.
   */
  readonly reference?: boolean;
}

/**
 * Keeps requests within the model's window by leaving out old messages, in two phases
 * (`twoPhaseTrim`). The system prompt, recalled messages, the current prompt and the newest tool
 * results always stay. If they alone are too long, the model's server has to reject the request.
 * Each message is counted once, so only new messages add to the cost of a request.
 *
 * Throws `CONFIGURATION` for an option of the wrong kind, a number below 0, or a window with no
 * room beside the reserve.
 */
export function fitContext(options: FitContextOptions = {}): ContextPolicy {
  const fields = 'step:count|? reference:boolean|? profile:countText()|?';
  checkFields('CONFIGURATION', 'fitContext()', options, fields);
  const { reference = false, profile = arc } = options;
  const meter = new RequestMeter(
    'fitContext()',
    reference ? { ...options, profile: textAlone(profile) } : options,
  );
  const counted = (request: ContextRequest): ContextRequest =>
    reference ? { ...request, tools: [] } : request;
  return {
    name: 'fitContext',
    fit: (request) => trimRequest(counted(request), meter, options),
    count: (request) => meter.count(counted(request)),
  };
}

/** Returns a profile that counts texts, calls and results, and nothing beside them. */
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
  const { history, held, turn } = findCut(messages, sums, {
    budget,
    prompt,
    step,
    start,
    reference,
  });
  const removed = history - start + (turn - held);
  const left = total - (sums[history]! - sums[start]!) - (sums[turn]! - sums[held]!);
  const kept = removed
    ? [...messages.slice(0, start), ...messages.slice(history, held), ...messages.slice(turn)]
    : messages;
  return { messages: kept, removed, before: corrected(total), after: corrected(left) };
}
