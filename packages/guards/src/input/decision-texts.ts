import { createMessage, toolResultsOf, type Decision, type Msg } from '@isoloop/core';
import { clientTextError, jsonClientText, type ClientText } from '@isoloop/core/host';

/**
 * Returns the texts of decisions, as messages for the guards. A changed decision replaces the one
 * in the list.
 */
export function decisionTexts(decisions: Decision[]): readonly ClientText[] {
  return decisions.flatMap((decision, index) => {
    const replace = (part: object): void => {
      decisions[index] = { ...decision, ...part } as Decision;
    };
    const text = textOfDecision(decision, replace);
    return text?.message.content.length ? text : [];
  });
}

function textOfDecision(
  decision: Decision,
  replace: (part: object) => void,
): ClientText | undefined {
  switch (decision.type) {
    case 'approve':
      return undefined;
    case 'edit':
      return jsonClientText(decision.input, (input) => replace({ input }));
    case 'reject':
      return jsonClientText(decision.reason || null, (reason) => replace({ reason }));
    case 'result': {
      const { toolUseId, name = '', output, state = 'success' } = decision;
      if (!output.length) return undefined;
      const message = createMessage('tool', [
        { type: 'tool_result', toolUseId, name, output, state },
      ]);
      const take = (checked: Msg | undefined): void => {
        const [result] = checked ? toolResultsOf(checked) : [];
        if (!result) throw clientTextError();
        replace({ output: result.output });
      };
      return { message, take };
    }
  }
}
