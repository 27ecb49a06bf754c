import type { Decision } from '../event/pending-call.ts';
import { isRecord } from '../message/is-record.ts';

/**
 * What an assistant's message, as `useChat` keeps and posts it, says of its tool calls: approvals,
 * and results of tools that the client runs; nothing for any other message. Only claims: the
 * message tells of finished calls, too, and a client may post what it likes. What it may decide is
 * for the session's log to say. Progress (`preliminary`) is no result.
 */
export function fromUiDecisions(message: unknown): readonly Decision[] {
  const { role, parts } = isRecord(message) ? message : {};
  if (role !== 'assistant' || !Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => (isRecord(part) ? (toDecision(part) ?? []) : []));
}

function toDecision(part: Readonly<Record<string, unknown>>): Decision | undefined {
  const { type, toolName, toolCallId, state, approval, output, errorText, preliminary } = part;
  if (typeof type !== 'string' || typeof toolCallId !== 'string') return undefined;
  const name =
    type === 'dynamic-tool'
      ? toolName
      : type.startsWith('tool-')
        ? type.slice('tool-'.length)
        : undefined;
  if (typeof name !== 'string') return undefined;
  const call = { toolUseId: toolCallId, name };
  if (state === 'approval-responded') {
    const { approved, reason } = isRecord(approval) ? approval : {};
    if (approved === true) return { ...call, type: 'approve' };
    return approved === false
      ? { ...call, type: 'reject', ...(typeof reason === 'string' && reason && { reason }) }
      : undefined;
  }
  if (state === 'output-available' && preliminary !== true) {
    return {
      ...call,
      type: 'result',
      output: typeof output === 'string' ? output : JSON.stringify(output ?? null),
    };
  }
  if (state === 'output-error')
    return {
      ...call,
      type: 'result',
      output: typeof errorText === 'string' ? errorText : '',
      state: 'error',
    };
  return undefined;
}
