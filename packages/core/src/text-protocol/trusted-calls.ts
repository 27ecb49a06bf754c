import type { ToolResult } from '../message/content-block.ts';
import { isRecord } from '../message/is-record.ts';
import { toolUsesOf } from '../message/message-text.ts';
import type { Msg } from '../message/msg.ts';

/** Metadata on the delta of a trusted call. It stays with the call in the log. */
export const trustMark = { providerMetadata: { textProtocol: { returnDirect: true } } } as const;

/**
 * Returns true if the model marked the result as the answer; for `returnDirect` of an agent or a
 * call. The model does so in its call, by `"trust_mode": 1` beside `tool_name` (OxyGent), or the
 * parser by `returnDirect`. Otherwise the tool decides. The model knows the flag only if your
 * prompt describes it.
 */
export function trustedCalls({ toolUseId }: ToolResult, reply: Msg): true | undefined {
  const mark = toolUsesOf(reply).find(({ id }) => id === toolUseId)?.providerMetadata?.[
    'textProtocol'
  ];
  return isRecord(mark) && mark['returnDirect'] === true ? true : undefined;
}
