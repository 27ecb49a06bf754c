import {
  type Middleware,
  type Run,
  createMessage,
  textOf,
  type MessageContext,
  type Msg,
} from '@isoloop/core';
import { isEnding } from '@isoloop/core/agent';
import { markAsProgram } from '@isoloop/core/message';

/** Function that gets a failure. */
export type ReportFailure = (error: unknown) => void;

export interface Recall {
  /** Name of the message with the text. */
  readonly name: string;
  /** Ids and times of the message. */
  readonly messageContext: MessageContext;
  /** Returns the place of the text: a user message, or the end of the system prompt. */
  role(run: Run): 'user' | 'system' | undefined;
  /**
   * Returns a text for an agent call, or an empty text. `input`: the new messages, else the
   * question that the agent call continues. It must end as soon as the context's `stopSignal`
   * aborts.
   */
  find(input: readonly Msg[], run: Run): Promise<string>;
  /** Receives the error of `find`. The agent call continues without the text. */
  readonly report: ReportFailure;
}

/**
 * Returns the wrapper that searches once per agent call, before its first model request. The found
 * text comes right before the conversation in each model request, or at the end of the system
 * prompt. It is never stored.
 */
export function recallOnce(recall: Recall): Required<Pick<Middleware, 'wrapSettle'>> {
  return {
    wrapSettle: async (input, next, run) => {
      const outcome = await next(input);
      if (isEnding(outcome) || run.ending.stopped) return outcome;
      const { messages, questionId } = run;
      const question = messages.filter(({ id }) => id === questionId);
      const { name, messageContext, report } = recall;
      const recallInput = input.messages.length ? input.messages : question;
      const text = await recall.find(recallInput, run).catch((error: unknown) => {
        if (!run.stopSignal.aborted) report(error);
      });
      if (!text) return outcome;
      if (recall.role(run) === 'system') run.prompt.append(text);
      else
        run.prompt.include([
          markAsProgram(createMessage('user', text, { ...messageContext, name })),
        ]);
      return outcome;
    },
  };
}

/** Returns the text of the user's last message, or an empty text. */
export function lastQuestion(messages: readonly Msg[]): string {
  const question = messages.findLast(({ role }) => role === 'user');
  return question ? textOf(question).trim() : '';
}
