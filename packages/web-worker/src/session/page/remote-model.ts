import { AgentError, type ChatModel } from '@isoloop/core';
import { runInfo } from '@isoloop/core/model';
import { isPageGone, type PageLink } from './page-link.ts';
import type { ModelPageResult, ModelPageCall } from '../../page/parts/page-model.ts';
import type { PageOffer } from '../../wire/protocol.ts';

type ModelOffer = Extract<PageOffer, { readonly kind: 'model' }>;

type ModelPages = () => readonly { readonly link: PageLink; readonly offer: ModelOffer }[];

/**
 * Returns the model of the first page that offers a model. Throws `CONFIGURATION` if no page does.
 */
export function remoteModel(pages: ModelPages): ChatModel {
  const [first] = pages();
  if (!first)
    throw new AgentError(
      'CONFIGURATION',
      'No connected page offers a model: `connectAgent(worker, { page: [pageModel(model)] })`.',
    );
  const { provider, modelId, features } = first.offer;
  let lastReplyId = 0;

  return {
    provider,
    modelId,
    features,
    async *stream(request, { signal, run }) {
      const page = pages()[0];
      if (!page) throw unreachableError();
      const replyId = ++lastReplyId;
      const callPage = (pageCall: ModelPageCall): Promise<ModelPageResult> =>
        page.link.call(pageCall, { signal });
      let isOpen = true;
      try {
        await callPage({ type: 'open', replyId, request, run: run && runInfo(run) });
        for (;;) {
          const batch = await callPage({ type: 'next', replyId });
          if (!batch) {
            isOpen = false;
            return;
          }
          yield batch;
        }
      } catch (error) {
        throw isPageGone(error) ? unreachableError(error) : error;
      } finally {
        // Passes no signal, because the signal may be aborted already.
        if (isOpen)
          page.link.call({ type: 'close', replyId } satisfies ModelPageCall).catch(() => {});
      }
    },
  };
}

function unreachableError(cause?: unknown): AgentError {
  return new AgentError('MODEL_UNREACHABLE', 'The page with the model is gone.', {
    cause,
    retryable: true,
  });
}
