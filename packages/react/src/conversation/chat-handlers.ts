import type { UIMessage } from '@isoloop/core/stream';
import type { FinishedAnswer } from './chat.ts';

/** What a page does when something happens in its chat. A failure becomes `error` of the hook. */
export interface ChatHandlers<M extends UIMessage = UIMessage> {
  /**
   * Called once for each tool call, also of tools that run in the worker or at the endpoint. For a
   * tool without `execute`, pass the result to `addToolOutput`.
   */
  onToolCall?(options: { readonly toolCall: CalledToolOf<M> }): unknown;
  /** Called for each data part of a tool, also for a transient one. */
  onData?(part: Extract<M['parts'][number], { type: `data-${string}` }>): unknown;
  /** Called at the end of each answer, also of an answer that another tab has asked for. */
  onFinish?(answer: FinishedAnswer<M>): unknown;
  onError?(error: Error): unknown;
  /**
   * Whether to send the messages again, after a result of `addToolOutput` or at the end of an
   * answer. Decisions about approvals are always sent.
   */
  sendAutomaticallyWhen?(options: { messages: M[] }): boolean | PromiseLike<boolean>;
}

/** Tool call with the types of the tool, if the messages have them. */
export type CalledToolOf<M extends UIMessage> = CalledBy<
  Extract<M['parts'][number], { readonly state: 'input-available' }>
>;

type CalledBy<Part> = Part extends { readonly type: 'dynamic-tool'; readonly input: infer Input }
  ? CallOf<string, Input> & { readonly dynamic: true }
  : Part extends { readonly type: `tool-${infer Name}`; readonly input: infer Input }
    ? CallOf<Name, Input> & { readonly dynamic?: false }
    : never;

interface CallOf<Name, Input> {
  readonly toolCallId: string;
  readonly toolName: Name;
  readonly input: Input;
}
