import type { AgentHook, UseList } from '@isoloop/core';
import { textToolCalls } from '@isoloop/core/text-protocol';
import './chosen-model.ts';
import type { LiveMessage } from './live-message.ts';

/**
 * Adds a hook to `use` that sends each event of the agent to the page. The browser's own model
 * calls no tools by itself, so with it the agent also gets `textToolCalls()`.
 */
export function withReport<T extends { readonly use?: UseList }>(options: T): T {
  const protocol = globalThis.liveModel?.kind === 'browser' ? [textToolCalls()] : [];
  return { ...options, use: [options.use ?? [], protocol, reporter] };
}

const reporter: AgentHook = {
  onError: 'ignore',
  on: {
    '*': (event) => {
      const message: LiveMessage = { type: 'event', event };
      postMessage(message);
    },
  },
};
