import { AgentError, type AgentEvent, type HookControl } from '@isoloop/core';
import type { Hook } from '@isoloop/core/event';
import type { HookPageResult, HookPageCall } from '../../page/page-hooks.ts';
import { isPageGone, type PageLink } from './page-link.ts';
import type { HookOffer, PageOffer } from '../../wire/protocol.ts';

type HooksOffer = Extract<PageOffer, { readonly kind: 'hooks' }>;

/**
 * Returns the hooks of a page as hooks of the agent. If the page disconnects, its pending answers
 * are ignored.
 */
export function remoteHooks({ hooks, timeoutMs }: HooksOffer, link: PageLink): readonly Hook[] {
  return hooks.map((hook, index) =>
    remoteHook(hook, (event) =>
      link.call<HookPageResult>({ index, event } satisfies HookPageCall, { timeoutMs }),
    ),
  );
}

function remoteHook(
  { events, priorities, ...hook }: HookOffer,
  callHook: (event: AgentEvent) => Promise<HookPageResult>,
): Hook {
  let failure: { readonly error: unknown; readonly runId: string } | undefined;

  const callForChunk = (event: AgentEvent, control: Partial<HookControl>): void => {
    const { runId } = event;
    callHook(event)
      .then(({ controlCalls }) => applyAll(controlCalls, control))
      .catch((error: unknown) => {
        const isIgnored = hook.onError === 'ignore' && !isMisuse(error);
        if (!isPageGone(error) && !isIgnored) failure ??= { error, runId };
      });
  };
  const handle = async (
    event: AgentEvent,
    control: Partial<HookControl>,
  ): Promise<AgentEvent | void> => {
    if (event.type.endsWith('-chunk')) return callForChunk(event, control);
    try {
      const result = await callHook(event);
      if (failure?.runId === event.runId) throw failure.error;
      applyAll(result.controlCalls, control);
      return result.event;
    } catch (error) {
      failure = undefined;
      if (!isPageGone(error)) throw error;
    }
  };
  if (!events) return { ...hook, onEvent: handle };
  return {
    ...hook,
    on: Object.fromEntries(
      events.map((type) => [type, { handle, priority: priorities[type] }]),
    ) as Hook['on'] & {},
  };
}

function applyAll(
  controlCalls: HookPageResult['controlCalls'],
  control: Partial<HookControl>,
): void {
  for (const { name, args } of controlCalls)
    (control[name] as (...args: readonly unknown[]) => void)(...args);
}

/**
 * Returns whether the hook called a control function that its event does not allow. This error is
 * never ignored.
 */
function isMisuse(error: unknown): boolean {
  return AgentError.is(error) && error.details?.['control'] !== undefined;
}
