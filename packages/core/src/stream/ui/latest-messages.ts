/** The part of a UI message that a turn needs. */
export interface ShownMessage {
  readonly id: string;
  readonly role: string;
  readonly parts: readonly object[];
}

/** Fields of a part with the decision of a person, or with the result of a tool on the page. */
interface CallPart {
  readonly toolCallId?: unknown;
  readonly state?: unknown;
  readonly input?: unknown;
}

/**
 * Returns what a turn needs of the messages that a page shows: the last message, and the metadata,
 * decisions and results of the last answer. The agent has the rest. So a refused message, for
 * example one that is too large, is not sent again with the next one. `messageId`: id of the
 * message that the request is about. If this is the last answer, later messages are left out.
 *
 * @example
 * const body = { id, trigger, messageId, messages: latestMessages(messages, messageId) };
 */
export function latestMessages<M extends ShownMessage>(
  messages: readonly M[],
  messageId?: string,
): M[] {
  // After a refused message, the list may contain an assistant message without parts.
  const answer = messages.findLast((each) => each?.role === 'assistant' && each.parts[0]);
  const lastMessage = messages.at(-1);
  if (!lastMessage) return [];
  if (!answer) return [lastMessage];
  const isAboutAnswer = answer === lastMessage || answer.id === messageId;
  return isAboutAnswer ? [decisionsOf(answer)] : [decisionsOf(answer), lastMessage];
}

/** Returns the answer with only its new decisions and results. Other parts can be large. */
function decisionsOf<M extends ShownMessage>(answer: M): M {
  const stepStart = answer.parts.findLastIndex(
    (part) => 'type' in part && part.type === 'step-start',
  );
  const parts = answer.parts.flatMap((part: CallPart, index) => {
    const { input: _input, ...call } = part;
    const isSent = call.toolCallId !== undefined && isDecided(call, index > stepStart);
    return isSent ? [call] : [];
  });
  return { ...answer, parts };
}

/** Returns whether a call has a decision or a result. The model has read those of earlier steps. */
function isDecided({ state }: CallPart, isInLastStep: boolean): boolean {
  if (state === 'approval-responded') return true;
  return isInLastStep && (state === 'output-available' || state === 'output-error');
}
