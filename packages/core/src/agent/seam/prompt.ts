import type { Msg } from '../../message/msg.ts';
import type { LiveRun } from '../run/live-run.ts';

/** What the next model request says before the conversation. */
export interface RunPrompt {
  /**
   * System prompt of the next model request: the base, then the texts of `append()`. Without them,
   * an empty text. Works everywhere.
   */
  readonly text: string;
  /** The agent's own system prompt, or that of `set()`. Works everywhere. */
  readonly base: string;
  /**
   * Messages of the next model request before `wrapRequest` changes it: the system prompt, the
   * messages of `include()`, then `run.messages`. Tool results have their whole length. Each use
   * makes a new list. Works everywhere.
   */
  readonly messages: readonly Msg[];
  /**
   * Replaces the base of the system prompt from the next model request on. The texts of `append()`
   * stay after it. Works in wrappers, hooks and tools.
   */
  set(text: string): void;
  /**
   * Appends a text to the system prompt from the next model request on, after a blank line. Works
   * in wrappers, hooks and tools.
   */
  append(text: string): void;
  /**
   * Adds messages to all later model requests of this run. They are not stored. `first` (default)
   * places them between system prompt and conversation, before those of earlier calls. `last`: at
   * the end of the conversation so far. Works in wrappers, hooks and tools. `last` works from
   * `next` of `wrapSettle` on.
   */
  include(messages: readonly Msg[], position?: 'first' | 'last'): void;
}

/** Returns the prompt of a run. */
export function promptOf(run: LiveRun): RunPrompt {
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
    include(messages, position) {
      if (position === 'last') run.writing().log.conversation.add(messages);
      else run.alive().prompt.prepended.unshift(...messages);
    },
  };
}
