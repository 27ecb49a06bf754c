import type { Msg } from '../message/msg.ts';

/**
 * Request of `interrupt()` to the running agent call. `stop` (default) ends the call with `message`
 * as the answer, or with the agent's recovery message. `pause` ends the call with reason
 * `suspended`; the next agent call continues the run. `inject` adds messages once all open tool
 * calls have results, and the call continues. Guards check injected messages first and drop the
 * messages that they reject.
 */
export type InterruptRequest =
  | { readonly mode?: 'stop'; readonly message?: string | Msg }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: string | Msg | readonly Msg[] };

/** An interrupt that ends the run. */
export type Interruption = Exclude<InterruptRequest, { readonly mode: 'inject' }>;
