import type { Msg, ModelDelta } from '@isoloop/core';
import { GuardedReply, reportRejection, type ReplyGuards } from './guarded-reply.ts';

/**
 * Applies the rules to an answer that no model wrote, such as the result of a tool. Returns
 * `undefined` if a rule asks for a reply of the model. `mayRetry`: see `ReviewContext`.
 */
export async function reviewAnswer(
  answer: Msg,
  guards: ReplyGuards,
  mayRetry: boolean,
): Promise<Msg | undefined> {
  const reply = new GuardedReply(guards, { isForProgram: false, lookahead: 'all' });
  const texts = answer.content.flatMap((block, index): ModelDelta[] =>
    block.type === 'text' ? [{ type: 'text', id: String(index), delta: block.text }] : [],
  );
  reply.take([...texts, { type: 'finish', reason: 'return-direct' }]);
  try {
    const { deltas, correction } = await reply.end(mayRetry);
    if (correction !== undefined) return undefined;
    const saidAs = (id: string): string =>
      deltas.map((delta) => (delta.type === 'text' && delta.id === id ? delta.delta : '')).join('');
    const content = answer.content.flatMap((block, index) => {
      if (block.type !== 'text') return block;
      const text = saidAs(String(index));
      // Some providers refuse an empty text.
      return text ? { ...block, text } : [];
    });
    const addedText = saidAs('guard');
    if (addedText) content.push({ type: 'text', text: addedText });
    return { ...answer, content, metadata: { ...answer.metadata, ...reply.finish?.metadata } };
  } catch (thrown) {
    throw reportRejection(thrown, guards);
  }
}
