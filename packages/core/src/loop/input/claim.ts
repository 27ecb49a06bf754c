import type { Decision } from '../../event/pending-call.ts';
import { createMessage, type MessageContext } from '../../message/create-message.ts';
import type { JsonValue } from '../../message/json/json.ts';
import { mapStrings } from '../../message/json/map-strings.ts';
import { textOf, toolResultsOf } from '../../message/message-text.ts';
import type { Msg } from '../../message/msg.ts';

/** Something that a client sent and the model will read, as a message for the guards. */
export interface Claim {
  readonly message: Msg;
  /** Gets the message after the guards, if they changed it. The changed text has to be used. */
  readonly take: (judged: Msg) => void | Promise<void>;
}

/** Returns a claim with all strings of a JSON value, such as the schema of a client's tool. */
export function jsonClaim(
  value: JsonValue,
  take: (judged: JsonValue) => void,
  context?: MessageContext,
): Claim {
  const texts: string[] = [];
  mapStrings(value, (text) => {
    texts.push(text);
    return text;
  });
  const content = texts.map((text) => ({ type: 'text', text }) as const);
  return {
    message: createMessage('user', content, context),
    take({ content: judged }) {
      const left = judged.map((block) => (block.type === 'text' ? block.text : ''));
      take(mapStrings(value, (text) => left.shift() ?? text));
    },
  };
}

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
