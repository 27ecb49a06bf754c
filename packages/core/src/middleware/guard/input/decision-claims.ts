import type { Decision } from '../../../event/pending-call.ts';
import { jsonClaim, unfitClaim, type Claim } from '../claims.ts';
import { createMessage } from '../../../message/create-message.ts';
import { textOf, toolResultsOf } from '../../../message/message-text.ts';

/** Returns a claim for each decision with a text. A changed decision replaces the one in the list. */
export function decisionClaims(decisions: Decision[]): readonly Claim[] {
  return decisions.flatMap((decision, index): Claim | readonly Claim[] => {
    const replace = (part: object): void => {
      decisions[index] = { ...decision, ...part } as Decision;
    };
    switch (decision.type) {
      case 'approve':
        return [];
      case 'edit': {
        const claim = jsonClaim(decision.input, (input) => replace({ input }));
        return claim.message.content.length ? claim : [];
      }
      case 'reject': {
        if (!decision.reason) return [];
        const message = createMessage('user', decision.reason);
        return { message, take: (judged) => replace({ reason: textOf(judged ?? fail()) }) };
      }
      case 'result': {
        const { toolUseId, name = '', output, state = 'success' } = decision;
        if (!output.length) return [];
        const result = { type: 'tool_result', toolUseId, name, output, state } as const;
        const message = createMessage('tool', [result]);
        return {
          message,
          take: (judged) =>
            replace({ output: (toolResultsOf(judged ?? fail())[0] ?? fail()).output }),
        };
      }
    }
  });
}

function fail(): never {
  throw unfitClaim();
}
