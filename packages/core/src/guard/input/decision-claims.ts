import type { Decision } from '../../event/pending-call.ts';
import type { Claim } from '../../loop/input/claim.ts';
import { createMessage, type MessageContext } from '../../message/create-message.ts';
import { textOf, toolResultsOf } from '../../message/message-text.ts';
import { jsonClaim } from '../json-claim.ts';

/** Returns a claim for each decision with a text. A changed decision replaces the one in the list. */
export function decisionClaims(decisions: Decision[], context: MessageContext): readonly Claim[] {
  return decisions.flatMap((decision, index): Claim | readonly Claim[] => {
    const replace = (part: object): void => {
      decisions[index] = { ...decision, ...part } as Decision;
    };
    if (decision.type === 'edit')
      return jsonClaim(decision.input, (input) => replace({ input }), context);
    if (decision.type === 'reject' && decision.reason !== undefined) {
      const message = createMessage('user', decision.reason, context);
      return { message, take: (judged) => replace({ reason: textOf(judged) }) };
    }
    if (decision.type !== 'result') return [];
    const { toolUseId, name = '', output, state = 'success' } = decision;
    const result = { type: 'tool_result', toolUseId, name, output, state } as const;
    return {
      message: createMessage('tool', [result], context),
      take: (judged) => replace({ output: toolResultsOf(judged)[0]?.output ?? '' }),
    };
  });
}
