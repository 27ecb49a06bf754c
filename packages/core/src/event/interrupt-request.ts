import type { Msg } from '../message/msg.ts';

/**
 * What `interrupt()` asks of the running call: `stop` (default) ends it with a recovery message or
 * with `message`; `pause` ends it as `suspended`, to go on with the next call; `inject` lets it go
 * on with these messages, once open tool calls have their results.
 */
export type InterruptRequest =
  | { readonly mode?: 'stop'; readonly message?: string | Msg }
  | { readonly mode: 'pause' }
  | { readonly mode: 'inject'; readonly messages: string | Msg | readonly Msg[] };

/** An interrupt that ends the run. */
export type Interruption = Exclude<InterruptRequest, { readonly mode: 'inject' }>;
