import { AgentError, type ChatModel, type ModelDelta, type ModelRequest } from '@isoloop/core';
import type { RunInfo } from '@isoloop/core/model';
import { checkFields, withMethod } from '@isoloop/core/options';
import { pagePart, type PagePart } from './page-part.ts';

/**
 * Message from worker to page: start a model reply, read its next batch of deltas, or close it.
 * `replyId`: number of the reply.
 */
export type ModelPageCall =
  | {
      readonly type: 'open';
      readonly replyId: number;
      readonly request: ModelRequest;
      readonly run: RunInfo | undefined;
    }
  | { readonly type: 'next' | 'close'; readonly replyId: number };

/**
 * Message from page to worker: the next batch of deltas, or `undefined` at the end of the reply.
 */
export type ModelPageResult = readonly ModelDelta[] | undefined;

interface Reply {
  readonly batches: AsyncIterator<readonly ModelDelta[]>;
  readonly controller: AbortController;
}

/**
 * Creates a part for the option `page` of `connectAgent` that offers a model on the page, such as
 * `browserModel()`. The agent uses the model with `model: page.model`. The page reads a batch from
 * the model only when the agent asks for the batch.
 */
export function pageModel(model: ChatModel): PagePart {
  checkFields(
    'pageModel()',
    { model },
    { model: withMethod('stream', 'a model such as browserModel()') },
  );
  const { provider, modelId, features } = model;
  const replies = new Map<number, Reply>();
  return pagePart<ModelPageCall>(
    { kind: 'model', provider, modelId, features: { ...features } },
    async (pageCall): Promise<ModelPageResult> => {
      const { type, replyId: id } = pageCall;
      if (type === 'open') {
        const controller = new AbortController();
        const { request, run } = pageCall;
        const stream = model.stream(request, { signal: controller.signal, run });
        const batches = stream[Symbol.asyncIterator]();
        replies.set(id, { batches, controller });
        return undefined;
      }
      const reply = replies.get(id);
      if (!reply) throw new AgentError('ABORTED', 'The reader left the reply.');
      if (type === 'close') {
        replies.delete(id);
        reply.controller.abort();
        await reply.batches.return?.();
        return undefined;
      }
      const { done, value } = await reply.batches.next();
      if (!done) return value;
      replies.delete(id);
      return undefined;
    },
  );
}
