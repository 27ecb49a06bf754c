import type { Decision } from '../event/pending-call.ts';
import { isRecord } from '../message/is-record.ts';
import { jsonForm } from '../message/json-form.ts';

/**
 * Reads the decisions in an assistant message. The message has the form in which `useChat` keeps
 * and posts it. These are approvals, and results of tools that the client runs. Returns an empty
 * list for any other message. Decisions are only claims: results of finished calls are also
 * returned as decisions, and a client may post anything. The session's log determines what the
 * client may decide. Progress (`preliminary`) is not a result.
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
      output: typeof output === 'string' ? output : textOf(name, output),
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

function textOf(name: string, output: unknown): string {
  return JSON.stringify(jsonForm(output, `The result of "${name}"`) ?? null);
}

/**
 * Returns whether the last answer has an approval or a denial that the client has not sent. Use it
 * as `useChat`'s `sendAutomaticallyWhen`. Each click is then sent at once, even if other calls
 * still wait. Ignores a user message after the answer that the server refused.
 */
export function hasApprovalResponse({ messages }: ShownChat): boolean {
  // If the server refuses a message, the list may contain an assistant message without parts.
  const answer = messages.findLast(({ role, parts }) => role === 'assistant' && parts.length);
  const states = answer?.parts.map((part: { readonly state?: unknown }) => part.state);
  return states?.includes('approval-responded') ?? false;
}

/** The part of AI SDK's messages that tells what the user has decided. */
export interface ShownChat {
  readonly messages: readonly { readonly role: string; readonly parts: readonly object[] }[];
}
