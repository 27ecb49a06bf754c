import type { ChatModel, ModelDelta, ModelRequest } from '@isoloop/core';

// The browser's own model exists in pages, not in workers. So the frame serves it to its worker.

type Question =
  | { readonly type: 'open'; readonly id: number; readonly request: ModelRequest }
  | { readonly type: 'close'; readonly id: number };

type Answer =
  | { readonly type: 'deltas'; readonly id: number; readonly deltas: readonly ModelDelta[] }
  | { readonly type: 'end'; readonly id: number; readonly error?: string };

/** Answers the requests that arrive at a port with a model. */
export function serveModel(port: MessagePort, model: ChatModel): void {
  const open = new Map<number, AbortController>();
  const tell = (answer: Answer): void => port.postMessage(answer);
  port.addEventListener('message', ({ data }: MessageEvent<Question>) => {
    open.get(data.id)?.abort();
    if (data.type === 'open') void reply(data.id, data.request);
  });
  port.start();

  async function reply(id: number, request: ModelRequest): Promise<void> {
    const controller = new AbortController();
    open.set(id, controller);
    try {
      for await (const deltas of model.stream(request, { signal: controller.signal }))
        tell({ type: 'deltas', id, deltas });
      tell({ type: 'end', id });
    } catch (error) {
      tell({ type: 'end', id, error: error instanceof Error ? error.message : String(error) });
    } finally {
      open.delete(id);
    }
  }
}

/** Returns the model that answers at the other end of a port. It calls no tools by itself. */
export function modelAt(port: MessagePort): ChatModel {
  let last = 0;
  return {
    provider: 'browser',
    modelId: 'LanguageModel',
    features: { tools: false, media: [] },
    async *stream(request, { signal }) {
      const id = ++last;
      const answers: Answer[] = [];
      let wake = (): void => {};
      const done = new AbortController();
      const listen = { signal: done.signal };
      const onAnswer = ({ data }: MessageEvent<Answer>): void => {
        if (data.id === id) answers.push(data);
        wake();
      };
      port.addEventListener('message', onAnswer, listen);
      signal.addEventListener('abort', () => wake(), listen);
      port.start();
      port.postMessage({ type: 'open', id, request } satisfies Question);
      try {
        for (;;) {
          signal.throwIfAborted();
          const answer = answers.shift();
          if (answer?.type === 'deltas') yield answer.deltas;
          else if (answer?.error !== undefined) throw new Error(answer.error);
          else if (answer) return;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        done.abort();
        port.postMessage({ type: 'close', id } satisfies Question);
      }
    },
  };
}
