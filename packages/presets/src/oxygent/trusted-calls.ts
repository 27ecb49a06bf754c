import { toolUsesOf, type Msg, type ToolResult } from '@isoloop/core';
import { isRecord } from '@isoloop/core/message';

/**
 * Returns true if the model marked the tool's result as the answer. The model marks a tool call by
 * `"trust_mode": 1` beside `tool_name`, and a custom parser by `returnDirect: true`. The text
 * protocol stores the mark with the tool call. Without a mark, the tool's own `returnDirect`
 * decides.
 */
export function trustedCalls({ toolUseId }: ToolResult, reply: Msg): true | undefined {
  const call = toolUsesOf(reply).find(({ id }) => id === toolUseId);
  const mark = call?.providerMetadata?.['textProtocol'];
  return isRecord(mark) && mark['returnDirect'] === true ? true : undefined;
}
