import type { Msg } from '../message/msg.ts';

/**
 * Request of `interrupt()` to the running call. `stop` (default) ends it with a recovery message or
 * with `message`. `pause` ends it as `suspended`; the next call continues it. `inject` adds these
 * messages once open tool calls have their results, and the call continues. Guards check them first
 * and drop those that they reject.
 */
export type InterruptRequest =
  | { readonly mode?: 'stop'; readonly message?: string | Msg }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: string | Msg | readonly Msg[] };

/** An interrupt that ends the run. */
export type Interruption = Exclude<InterruptRequest, { readonly mode: 'inject' }>;
