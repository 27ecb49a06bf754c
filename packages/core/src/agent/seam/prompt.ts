import type { LiveRun } from '../run/live-run.ts';
import type { Run } from './run.ts';

/** Returns the group `run.prompt`. */
export function promptOf(run: LiveRun): Run['prompt'] {
  return {
    get text() {
      return run.prompt.text;
    },
    get base() {
      return run.prompt.base;
    },
    get messages() {
      return run.prompt.messages;
    },
    set(text) {
      run.alive().prompt.base = text;
    },
    append(text) {
      run.alive().prompt.added.push(text);
    },
    include(messages) {
      run.alive().prompt.prepended.unshift(...messages);
    },
    includeLast(messages) {
      run.writing().log.conversation.add(messages);
    },
  };
}
