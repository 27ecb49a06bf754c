import { fieldsOf } from '../../error/agent-error.ts';
import type { Decision } from '../../event/pending-call.ts';
import { isObjectOrArray, jsonForm, type JsonValue } from '../../message/json.ts';

type Part = Readonly<Record<string, unknown>>;

/**
 * Returns the decisions in an assistant message that `useChat` posts. Decisions are approvals,
 * rejections, and results of tools that the client runs. Returns an empty list for any other
 * message.
 *
 * Do not trust these decisions without a check. A client may post anything, and the list also has
 * the results of finished tool calls. Only the session log shows what the client may decide.
 * Progress of a tool (`preliminary`) is not a result.
 */
export function fromUiDecisions(message: unknown): readonly Decision[] {
  const { role, parts } = fieldsOf(message);
  if (role !== 'assistant' || !Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => (isObjectOrArray(part) ? (toDecision(part) ?? []) : []));
}

function toDecision(part: Part): Decision | undefined {
  const { toolCallId, state, approval, output, errorText, preliminary } = part;
  const name = partToolName(part);
  if (typeof name !== 'string' || typeof toolCallId !== 'string') return undefined;
  const call = { toolUseId: toolCallId, name };
  if (state === 'approval-responded') return answerTo(call, fieldsOf(approval));
  if (state === 'output-available' && preliminary !== true) {
    const resultText = typeof output === 'string' ? output : outputTextOf(name, output);
    return { ...call, type: 'result', output: resultText };
  }
  if (state !== 'output-error') return undefined;
  const failureText = typeof errorText === 'string' ? errorText : '';
  return { ...call, type: 'result', output: failureText, state: 'error' };
}

function partToolName({ type, toolName }: Part): unknown {
  if (type === 'dynamic-tool') return toolName;
  return typeof type === 'string' && type.startsWith('tool-')
    ? type.slice('tool-'.length)
    : undefined;
}

function answerTo(
  call: Pick<Decision, 'toolUseId' | 'name'>,
  { approved, reason, input }: Part,
): Decision | undefined {
  if (approved === true && input !== undefined)
    return { ...call, type: 'edit', input: input as JsonValue };
  if (approved === true) return { ...call, type: 'approve' };
  return approved === false
    ? { ...call, type: 'reject', ...(typeof reason === 'string' && reason && { reason }) }
    : undefined;
}

function outputTextOf(name: string, output: unknown): string {
  return JSON.stringify(jsonForm(output, `The result of "${name}"`) ?? null);
}

/**
 * Returns whether the last answer has an approval or a rejection by the user. Use this function as
 * `sendAutomaticallyWhen` of `useChat`. Each decision is then sent at once, even if other tool
 * calls still wait. If the server rejected a user message after the answer, that message is
 * ignored.
 */
export function hasApprovalResponse({ messages }: ShownChat): boolean {
  // If the server rejects a message, the list may contain an assistant message without parts.
  const answer = messages.findLast(({ role, parts }) => role === 'assistant' && parts.length);
  const states = answer?.parts.map((part: { readonly state?: unknown }) => part.state);
  return states?.includes('approval-responded') ?? false;
}

/** The part of AI SDK's messages that shows what the user has decided. */
export interface ShownChat {
  readonly messages: readonly { readonly role: string; readonly parts: readonly object[] }[];
}
