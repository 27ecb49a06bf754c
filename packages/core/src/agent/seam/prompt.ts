import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

/** Returns the group `run.prompt`. */
export function promptOf(live: LiveRun): Run['prompt'] {
  return {
    get text() {
      return live.prompt.text;
    },
    get base() {
      return live.prompt.base;
    },
    get messages() {
      return live.prompt.messages;
    },
    set(text) {
      live.alive().prompt.base = text;
    },
    append(text) {
      live.alive().prompt.added.push(text);
    },
    include(messages) {
      live.alive().prompt.prepended.unshift(...messages);
    },
    includeLast(messages) {
      live.writing().log.conversation.add(messages);
    },
  };
}
