import { isMisuse } from '@isoloop/core/host';
import type { AgentEvent, Awaitable } from '@isoloop/core';
import type { Hook, HookControls } from '@isoloop/core/event';
import type { HookPageResult, HookPageCall } from '../../page/parts/page-hooks.ts';
import { isPageGone, type PageLink } from './page-link.ts';
import type { HookEventKey, HookOffer, PageOffer } from '../../wire/protocol.ts';

type HooksOffer = Extract<PageOffer, { readonly kind: 'hooks' }>;

/**
 * Returns the hooks of a page as hooks of the agent. If the page disconnects, its pending answers
 * are ignored.
 */
export function remoteHooks({ hooks, timeoutMs }: HooksOffer, link: PageLink): readonly Hook[] {
  return hooks.map((hook, index) =>
    remoteHook(hook, (key, event) =>
      link.call<HookPageResult>({ index, key, event } satisfies HookPageCall, { timeoutMs }),
    ),
  );
}

function remoteHook(
  { events, priorities, ...hook }: HookOffer,
  callHook: (key: HookEventKey, event: AgentEvent) => Promise<HookPageResult>,
): Hook {
  let failure: { readonly error: unknown; readonly runId: string } | undefined;

  const callForChunk = (key: HookEventKey, event: AgentEvent): void => {
    const { runId } = event;
    callHook(key, event).catch((error: unknown) => {
      const isIgnored = hook.onError === 'ignore' && !isMisuse(error);
      if (!isPageGone(error) && !isIgnored) failure ??= { error, runId };
    });
  };
  const handle = async (key: HookEventKey, event: AgentEvent): Promise<AgentEvent | void> => {
    if (event.type.endsWith('-chunk')) return callForChunk(key, event);
    try {
      const result = await callHook(key, event);
      if (failure?.runId === event.runId) throw failure.error;
      applyAll(result.controlCalls, event as AgentEvent & HookControls);
      return result.event;
    } catch (error) {
      failure = undefined;
      if (!isPageGone(error)) throw error;
    }
  };
  const handlers = events.map((key) => [
    key,
    {
      handle: (event: AgentEvent): Awaitable<AgentEvent | void> => handle(key, event),
      priority: priorities[key],
    },
  ]);
  return { ...hook, on: Object.fromEntries(handlers) as NonNullable<Hook['on']> };
}

function applyAll(controlCalls: HookPageResult['controlCalls'], event: HookControls): void {
  for (const { name, args } of controlCalls)
    (event[name] as (...args: readonly unknown[]) => void)(...args);
}
