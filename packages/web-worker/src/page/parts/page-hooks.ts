import { withControls } from '@isoloop/core/host';
import { AgentError, errorText, type AgentEvent, type Awaitable } from '@isoloop/core';
import { checkOptions, nonNegative, optional, type OptionTable } from '@isoloop/core/options';
import type { ControlCall, Hook } from '@isoloop/core/event';
import { pagePart, type PagePart } from './page-part.ts';
import type { HookEventKey, HookOffer } from '../../wire/protocol.ts';

/** How long the worker waits for the hooks of a page. */
export interface PageHooksOptions {
  /**
   * Maximum time of a handler that the agent waits for, in milliseconds. After this time the hook
   * fails, and its `onError` applies. Default: 30,000.
   */
  readonly timeoutMs?: number;
}

/** Message from worker to page: an event for a handler of the hook at this index of the offer. */
export interface HookPageCall {
  readonly index: number;
  /** Key of the handler in `on`. */
  readonly key: HookEventKey;
  readonly event: AgentEvent;
}

/** A control that a hook used. */
type SentControl = Pick<ControlCall, 'name' | 'args'>;

/** Message from page to worker: the event that the hook returned, and the controls that it used. */
export interface HookPageResult {
  readonly event?: AgentEvent;
  readonly controlCalls: readonly SentControl[];
}

/**
 * Creates a part for the option `page` of `connectAgent` that offers hooks which run on the page.
 * The hooks run among the agent's own hooks by priority, until the page disconnects.
 *
 * At events that hooks may change (`pre-` and `post-`), the agent waits for the page and uses the
 * event that the hook returns. At chunk events the agent does not wait, so an error is thrown at
 * the hook's next other event. List the events that you need in `on`, because each event is cloned.
 * The controls of an event act when the handler ends. There is no `run` on the page.
 */
export function pageHooks(
  hooks: readonly Hook<undefined>[],
  options: PageHooksOptions = {},
): PagePart {
  checkOptions('pageHooks()', options, pageHooksOptions);
  const { timeoutMs = 30_000 } = options;
  return pagePart<HookPageCall>(
    { kind: 'hooks', hooks: hooks.map(toOffer), timeoutMs },
    async ({ index, key, event }) => {
      const hook = hooks[index]!;
      const { name = 'unnamed', on = {} } = hook;
      const handle = handlerOf(on[key])!;
      const controlCalls: SentControl[] = [];
      const handling = { hook: name, hasEnded: false };
      const handlersEvent = withControls(event, handling, (call) => {
        controlCalls.push({ name: call.name, args: call.args } as SentControl);
      });
      try {
        const result = await handle.call(hook, handlersEvent, undefined);
        const isChanged = result && result !== handlersEvent;
        return { controlCalls, ...(isChanged && { event: result }) } satisfies HookPageResult;
      } catch (thrown) {
        if (AgentError.is(thrown)) throw thrown;
        throw new AgentError(
          'HOOK_ERROR',
          `Hook "${name}" failed on the page at ${event.type}: ${errorText(thrown)}`,
          {
            cause: thrown,
            details: { hook: name, event: event.type },
          },
        );
      } finally {
        handling.hasEnded = true;
      }
    },
  );
}

const pageHooksOptions: OptionTable<PageHooksOptions> = { timeoutMs: optional(nonNegative) };

type Handler = (event: AgentEvent, run: undefined) => Awaitable<AgentEvent | void>;

function handlerOf(entry: unknown): Handler | undefined {
  const handler = typeof entry === 'function' ? { handle: entry } : entry;
  return (handler as { readonly handle: Handler } | undefined)?.handle;
}

function toOffer({ name = 'unnamed', priority, onError, on = {} }: Hook<undefined>): HookOffer {
  const priorities = Object.entries(on).flatMap(([key, entry]) =>
    typeof entry === 'object' && entry.priority !== undefined ? [[key, entry.priority]] : [],
  );
  return {
    name,
    priorities: Object.fromEntries(priorities) as HookOffer['priorities'],
    ...(priority !== undefined && { priority }),
    ...(onError && { onError }),
    events: (Object.keys(on) as HookEventKey[]).filter((key) => on[key]),
  };
}
