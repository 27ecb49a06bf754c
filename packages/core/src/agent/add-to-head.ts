import type { Msg } from '../message/msg.ts';
import type { RequestDraft } from './middleware.ts';

/** Returns the draft with more messages right before the conversation. The log does not get them. */
export function addToHead(draft: RequestDraft, messages: readonly Msg[]): RequestDraft {
  if (!messages.length) return draft;
  const head = draft.head + messages.length;
  return { ...draft, messages: draft.messages.toSpliced(draft.head, 0, ...messages), head };
}
