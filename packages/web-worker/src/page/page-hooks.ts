import { AgentError, errorText, type AgentEvent, type HookControl } from '@isoloop/core';
import { checkOptions } from '@isoloop/core/error';
import type { Hook } from '@isoloop/core/event';
import { pagePart, type PagePart } from './page-part.ts';
import type { HookOffer } from '../wire/protocol.ts';

/** How long the worker waits for the hooks of a page. */
export interface PageHooksOptions {
  /**
   * Maximum time of a handler that the agent waits for, in milliseconds. After this time the hook
   * fails, and its `onError` applies.
   * @default 30_000
   */
  readonly timeoutMs?: number;
}

/** Message from worker to page: an event for the hook at this index of the offer. */
export interface HookPageCall {
  readonly index: number;
  readonly event: AgentEvent;
}

type ControlName = keyof HookControl;
type Handler = Required<Hook<undefined>>['onEvent'];

/** Call of a control function by a hook. */
interface ControlCall {
  readonly name: ControlName;
  readonly args: readonly unknown[];
}

/**
 * Message from page to worker: the event that the hook returned, and the control functions that the
 * hook called.
 */
export interface HookPageResult {
  readonly event?: AgentEvent;
  readonly controlCalls: readonly ControlCall[];
}

/**
 * Creates a part for the option `page` of `connectAgent` that offers hooks which run on the page.
 * The hooks run among the agent's own hooks by priority, until the page disconnects.
 *
 * At events that hooks may change (`pre-` and `post-`), the agent waits for the page and uses the
 * event that the hook returns. At chunk events the agent does not wait, so an error is thrown at
 * the hook's next other event. List the events that you need in `on`, because each event is cloned.
 */
export function pageHooks(
  hooks: readonly Hook<undefined>[],
  options: PageHooksOptions = {},
): PagePart {
  checkOptions('pageHooks()', options, 'timeoutMs:nonNegative|?');
  const { timeoutMs = 30_000 } = options;
  return pagePart<HookPageCall>(
    { kind: 'hooks', hooks: hooks.map(toOffer), timeoutMs },
    async ({ index, event }) => {
      const hook = hooks[index]!;
      const { on, onEvent } = hook;
      const controlCalls: ControlCall[] = [];
      let hasEnded = false;
      const ask =
        (name: ControlName) =>
        (...args: readonly unknown[]): void => {
          if (hasEnded)
            throw new AgentError(
              'CONFIGURATION',
              `\`${name}\` was called after the hook at ${event.type} had ended.`,
            );
          controlCalls.push({ name, args });
        };
      const control: HookControl = {
        stop: ask('stop'),
        gotoReasoning: ask('gotoReasoning'),
        jumpTo: ask('jumpTo'),
        reject: ask('reject'),
      };
      const entry = on?.[event.type] as Handler | { readonly handle: Handler } | undefined;
      const handler = typeof entry === 'object' ? entry.handle : entry;
      let current: AgentEvent | undefined;
      try {
        for (const handle of [handler, onEvent]) {
          if (handle)
            current =
              ((await handle.call(hook, freeze(current ?? event), control, undefined)) as
                | AgentEvent
                | undefined) ?? current;
        }
      } catch (thrown) {
        if (AgentError.is(thrown)) throw thrown;
        const name = hook.name ?? 'unnamed';
        throw new AgentError(
          'HOOK_ERROR',
          `Hook "${name}" failed on the page at ${event.type}: ${errorText(thrown)}`,
          {
            cause: thrown,
            details: { hook: name, event: event.type },
          },
        );
      }
      hasEnded = true;
      return { controlCalls, ...(current && { event: current }) } satisfies HookPageResult;
    },
  );
}

function toOffer({
  name = 'unnamed',
  priority,
  onError,
  on = {},
  onEvent,
}: Hook<undefined>): HookOffer {
  const priorities = Object.entries(on).flatMap(([type, entry]) =>
    typeof entry === 'object' && entry.priority !== undefined ? [[type, entry.priority]] : [],
  );
  return {
    name,
    priorities: Object.fromEntries(priorities) as HookOffer['priorities'],
    ...(priority !== undefined && { priority }),
    ...(onError && { onError }),
    events: onEvent ? undefined : (Object.keys(on) as AgentEvent['type'][]),
  };
}

/**
 * Freezes the event deeply, as for hooks in the worker. A hook that writes to the event then gets
 * an error.
 */
function freeze<T>(value: T): T {
  if (
    typeof value === 'object' &&
    value !== null &&
    !Object.isFrozen(value) &&
    !ArrayBuffer.isView(value)
  )
    Object.values(Object.freeze(value)).forEach(freeze);
  return value;
}
