import { AgentError } from '@isoloop/core';
import {
  boundaryError,
  type PageCallUpdate,
  type PageOffer,
  type PageCall,
  type PageVisibility,
} from '../../wire/protocol.ts';

/**
 * Part of an agent that runs on a page: tools, hooks, approvals or a model. Created by
 * `pageTools()`, `pageHooks()`, `pageApprovals()` and `pageModel()`.
 */
export interface PagePart {
  /** Description of the part for the worker. */
  readonly offer: PageOffer;
  /**
   * Creates a message channel and returns the port for the worker. The page answers calls on
   * the other port until the signal aborts.
   */
  serve(signal: AbortSignal): MessagePort;
}

interface PageCallContext {
  /** Signal that aborts when the worker no longer needs the result. */
  readonly signal: AbortSignal;
  /** Sends progress to the worker. Throws if the value cannot be cloned. */
  tell(progress: unknown): void;
}

/**
 * Creates a part that calls `handle` for each call of the worker. An error of `handle` reaches
 * the worker as an `AgentError`. With `tellsVisibility`, the worker also gets to know whether the
 * user sees the page.
 */
export function pagePart<Body>(
  offer: PageOffer,
  handle: (body: Body, context: PageCallContext) => unknown,
  tellsVisibility = false,
): PagePart {
  return {
    offer,
    serve(pageSignal) {
      const { port1, port2 } = new MessageChannel();
      const controllers = new Map<number, AbortController>();
      const post = (message: PageCallUpdate): void => port1.postMessage(message);

      const handleCall = async (id: number, body: Body): Promise<void> => {
        const controller = new AbortController();
        controllers.set(id, controller);
        try {
          post({
            id,
            outcome: {
              ok: true,
              value: await handle(body, {
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
            // The details of the error cannot be cloned, so only the code and the message are sent.
            post({
              id,
              outcome: { ok: false, error: new AgentError(error.code, error.message).toJSON() },
            });
          }
        } finally {
          controllers.delete(id);
        }
      };

      port1.addEventListener('message', ({ data }: MessageEvent<PageCall<Body>>) => {
        if (data.type === 'abort') controllers.get(data.id)?.abort();
        else void handleCall(data.id, data.body);
      });
      port1.start();
      if (tellsVisibility) {
        const tell = (): void =>
          port1.postMessage({
            visible: document.visibilityState === 'visible',
          } satisfies PageVisibility);
        document.addEventListener('visibilitychange', tell, { signal: pageSignal });
        tell();
      }
      pageSignal.addEventListener('abort', () => {
        for (const controller of controllers.values()) controller.abort();
        port1.close();
      });
      return port2;
    },
  };
}
