import type { ContentBlock, Msg } from '@isoloop/core';
import { bytesOf } from '../steps/record-bytes.ts';
import { plural, shownJson, shownText, size } from '../steps/shown-text.ts';
import { el } from './dom.ts';

/** Shows messages one below the other, with their roles in a column. */
export function messageList(messages: readonly Msg[]): HTMLElement {
  return el('ol', { class: 'messages' }, ...messages.map(messageItem));
}

/** Shows the latest messages, and the earlier ones when the reader opens them. */
export function foldedMessages(messages: readonly Msg[], shownCount: number): HTMLElement {
  const earlier = messages.slice(0, -shownCount);
  if (earlier.length < 2) return messageList(messages);
  const fold = el(
    'details',
    { class: 'fold' },
    el('summary', {}, `${plural(earlier.length, 'earlier message')}`),
  );
  fold.addEventListener('toggle', () => fold.append(messageList(earlier)), { once: true });
  return el('div', {}, fold, messageList(messages.slice(-shownCount)));
}

function messageItem(message: Msg): HTMLElement {
  const { role, name, content } = message;
  return el(
    'li',
    { class: `message ${role}` },
    el(
      'span',
      { class: 'role' },
      name && name !== role && role !== 'system' ? `${role} ${name}` : role,
    ),
    el('div', { class: 'blocks' }, ...content.map(blockView)),
  );
}

function blockView(block: ContentBlock): HTMLElement {
  switch (block.type) {
    case 'text':
      return el('p', { class: 'text' }, shownText(block.text));
    case 'thinking':
      return el('p', { class: 'text thinking' }, shownText(block.thinking));
    case 'tool_use':
      return titledView(`calls ${block.name}`, code(block.input));
    case 'tool_result':
      return titledView(`${block.name}: ${block.state}`, outputView(block.output));
    default:
      return el('p', { class: 'muted' }, `${block.type}, ${size(bytesOf(block.source))}`);
  }
}

function titledView(title: string, ...content: readonly HTMLElement[]): HTMLElement {
  return el('div', {}, el('p', { class: 'block-title' }, title), ...content);
}

/** Shows the output of a tool: text, JSON, or content blocks. */
export function outputView(output: unknown): HTMLElement {
  const isBlocks = Array.isArray(output) && output.every((block) => Object(block).type);
  if (!isBlocks) return code(output);
  return el('div', {}, ...(output as readonly ContentBlock[]).map(blockView));
}

/** Shows JSON or a text in a box that scrolls, also with the keyboard. */
export function code(value: unknown, label?: string): HTMLElement {
  const props = label === undefined ? {} : { role: 'region', 'aria-label': label };
  return el('pre', { tabindex: '0', ...props }, shownJson(value));
}

/** Shows a reply that may still stream. */
export function replyView(reply: Msg | undefined, text: string, thinking: string): HTMLElement {
  if (reply) return messageList([reply]);
  return el(
    'div',
    {},
    thinking && el('p', { class: 'text thinking' }, shownText(thinking)),
    el('p', { class: 'text' }, shownText(text)),
  );
}
