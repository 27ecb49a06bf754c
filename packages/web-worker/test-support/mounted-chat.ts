import {
  useAgentChat,
  type AgentChatHelpers,
  type AgentSource,
  type UseAgentChatOptions,
} from '@isoloop/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { agentWorker, type AgentWorkerOptions } from '@isoloop/web-worker';
import { createElement, StrictMode, Suspense, useEffect, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import { onTestFinished } from 'vitest';

export interface MountedChat<Value = unknown> {
  /** Latest return value of `useAgentChat`. */
  readonly chat: () => AgentChatHelpers;
  /** Latest return value of `hook`. */
  readonly value: () => Value;
  /** All values of `status`, each time it changed. */
  readonly statuses: readonly string[];
  /** Renders the component again with other options. */
  render(options: MountedOptions): void;
  unmount(): void;
}

export interface MountOptions<Value> {
  /** Hook under test that takes the chat. It runs in a component of its own. */
  readonly hook?: (chat: AgentChatHelpers) => Value;
  /** Whether React mounts, unmounts and mounts again. Default: true. */
  readonly strict?: boolean;
  /** Rendered inside the component of the chat, for example to suspend. */
  readonly inside?: ReactNode;
}

/** Options of the hook, and those of a worker. */
export interface MountedOptions extends UseAgentChatOptions, AgentWorkerOptions {}

/** Returns a worker as a source with its options. Returns any other source as it is. */
export function sourceOf(
  source: AgentSource | Worker | SharedWorker,
  options: AgentWorkerOptions,
): AgentSource {
  return source instanceof EventTarget ? agentWorker(source, options) : source;
}

/** Mounts a component that uses `useAgentChat`, and in it one that uses `hook`. */
export function mountChat<Value>(
  source: AgentSource | Worker | SharedWorker,
  options: MountedOptions,
  { hook, strict = true, inside = null }: MountOptions<Value> = {},
): MountedChat<Value> {
  const shown: { chat?: AgentChatHelpers; value?: Value | undefined } = {};
  const statuses: string[] = [];
  function User({ chat }: { readonly chat: AgentChatHelpers }): ReactNode {
    const value = hook?.(chat);
    useEffect(() => void (shown.value = value));
    return null;
  }
  function View({ options: given }: { readonly options: MountedOptions }): ReactNode {
    const { agent, options: own, timeoutMs, page, ...others } = given;
    const chat = useAgentChat(
      sourceOf(source, {
        agent,
        options: own,
        ...(timeoutMs && { timeoutMs }),
        ...(page && { page }),
      }),
      others,
    );
    useEffect(() => {
      shown.chat = chat;
      if (statuses.at(-1) !== chat.status) statuses.push(chat.status);
    });
    return [createElement(User, { key: 'user', chat }), inside];
  }
  const root = createRoot(document.createElement('div'));
  const render = (given: MountedOptions): void => {
    const view = createElement(Suspense, null, createElement(View, { options: given }));
    root.render(strict ? createElement(StrictMode, null, view) : view);
  };
  render(options);
  onTestFinished(() => root.unmount());
  return {
    chat: () => shown.chat!,
    value: () => shown.value!,
    statuses,
    render,
    unmount: () => root.unmount(),
  };
}

/** Returns what a chat shows, one line for each message. */
export function linesOf({ chat }: MountedChat): readonly string[] {
  return (chat()?.messages ?? []).map(
    ({ role, parts }) => `${role}: ${parts.map(textOfPart).filter(Boolean).join(' | ')}`,
  );
}

function textOfPart(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text;
  if (!isToolUIPart(part)) return '';
  const output = part.state === 'output-available' ? ` ${String(part.output)}` : '';
  return `${getToolName(part)} ${part.state}${output}`;
}
