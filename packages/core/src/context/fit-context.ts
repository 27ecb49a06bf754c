import { checkFields } from '../error/check-fields.ts';
import type { ContextPolicy, ContextRequest, FittedContext } from '../loop/context-policy.ts';
import { findCut } from './find-cut.ts';
import { RequestMeter, type WindowOptions } from './meter/request-meter.ts';

export interface FitContextOptions extends WindowOptions {
  /**
   * Cuts come in multiples of this many tokens, so that the cut stays in place for many requests.
   * Default: a tenth of the window.
   */
  readonly step?: number;
  /**
   * True: cuts exactly as Arc Reactor does (see `TrimOptions`), with a default step of 0. Default
   * false.
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
  const meter = new RequestMeter('fitContext()', options);
  checkFields('CONFIGURATION', 'fitContext()', options, 'step:count|? reference:boolean|?');
  return {
    name: 'fitContext',
    fit: (request) => trimRequest(request, meter, options),
    count: (request) => meter.count(request),
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
