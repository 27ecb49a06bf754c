import { AgentError } from '@isoloop/core';
import { boundaryError } from './connection.ts';
import type { PageAnswer, PageOffer, PageQuestion } from '../wire/protocol.ts';

/**
 * A part that a page offers to the agent in its worker. Made by `pageTools()`, `pageHooks()`,
 * `pageApprovals()` and `pageModel()`.
 */
export interface PagePart {
  /** The part's description for the worker. */
  readonly offer: PageOffer;
  /**
   * Returns the worker's end of a port. The page answers questions on it until the signal aborts.
   */
  serve(signal: AbortSignal): MessagePort;
}

export interface AnswerContext {
  /** Aborts when the answer is no longer wanted. */
  readonly signal: AbortSignal;
  /** Reports progress. Throws if it can't be cloned. */
  tell(progress: unknown): void;
}

/**
 * Creates a part that answers each question of the worker. An error of `answer` crosses as an
 * `AgentError`.
 */
export function pagePart<Q>(
  offer: PageOffer,
  answer: (question: Q, context: AnswerContext) => unknown,
): PagePart {
  return {
    offer,
    serve(ended) {
      const { port1, port2 } = new MessageChannel();
      const asked = new Map<number, AbortController>();
      const post = (message: PageAnswer): void => port1.postMessage(message);

      const reply = async (id: number, question: Q): Promise<void> => {
        const controller = new AbortController();
        asked.set(id, controller);
        try {
          post({
            id,
            outcome: {
              ok: true,
              value: await answer(question, {
                signal: controller.signal,
                tell: (progress) => post({ id, progress }),
              }),
            },
          });
        } catch (thrown) {
          const error = boundaryError(thrown);
          try {
            post({ id, outcome: { ok: false, error: error.toJSON() } });
          } catch {
            // The error's details can't be cloned.
            post({
              id,
              outcome: { ok: false, error: new AgentError(error.code, error.message).toJSON() },
            });
          }
        } finally {
          asked.delete(id);
        }
      };

      port1.addEventListener('message', ({ data }: MessageEvent<PageQuestion<Q>>) => {
        if (data.type === 'abort') asked.get(data.id)?.abort();
        else void reply(data.id, data.question);
      });
      port1.start();
      ended.addEventListener('abort', () => {
        for (const controller of asked.values()) controller.abort();
        port1.close();
      });
      return port2;
    },
  };
}
