import { isObjectOrArray } from '../message/json.ts';
import { toolUseIn, type Msg, type ToolResult } from '../message/msg.ts';

/**
 * Metadata that marks a trusted tool call: the model wants the tool's result to be the answer. The
 * log stores the metadata with the tool call.
 */
export const trustMark = { providerMetadata: { textProtocol: { returnDirect: true } } } as const;

/**
 * Returns true if the model marked the tool's result as the answer. Pass this function as
 * `returnDirect` of an agent or an agent call. The model marks a tool call by `"trust_mode": 1`
 * beside `tool_name` (OxyGent). A custom parser marks it by `returnDirect: true`. Without a mark,
 * the tool's own `returnDirect` decides. Your prompt has to describe the flag `trust_mode` to the
 * model.
 */
export function trustedCalls({ toolUseId }: ToolResult, reply: Msg): true | undefined {
  const mark = toolUseIn(reply, toolUseId)?.providerMetadata?.['textProtocol'];
  return isObjectOrArray(mark) && mark['returnDirect'] === true ? true : undefined;
}
