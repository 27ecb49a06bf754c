import type { AgentHook, UseList } from '@isoloop/core';
import type { LiveMessage } from './live-message.ts';

/** Adds a hook to `use` that sends each event of the agent to the page. */
export function withReport<T extends { readonly use?: UseList }>(options: T): T {
  return { ...options, use: [options.use ?? [], reporter] };
}

const reporter: AgentHook = {
  onError: 'ignore',
  onEvent: (event) => {
    const message: LiveMessage = { type: 'event', event };
    postMessage(message);
  },
};
