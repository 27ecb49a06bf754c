import type { ToolResult } from '../message/content-block.ts';
import { isRecord } from '../message/is-record.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';

/** What a delta of a trusted call has; it stays with the call in the log. */
export const trustMark = { providerMetadata: { textProtocol: { returnDirect: true } } } as const;

/**
 * For `returnDirect` of an agent or a call: the result is the answer where the model said so in its
 * call, by `"trust_mode": 1` beside `tool_name` (OxyGent), or the parser by `returnDirect`; else as
 * the tool says. The model knows of the flag only from a prompt of yours.
 */
export function trustedCalls({ toolUseId }: ToolResult, reply: Msg): true | undefined {
  const mark = toolUsesOf(reply).find(({ id }) => id === toolUseId)?.providerMetadata?.[
    'textProtocol'
  ];
  return isRecord(mark) && mark['returnDirect'] === true ? true : undefined;
}
