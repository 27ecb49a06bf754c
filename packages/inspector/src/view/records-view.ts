import { textOf, toolResultsOf, toolUsesOf, type Msg } from '@isoloop/core';
import type { LogRecord } from '@isoloop/core/log';
import { bytesOf } from '../steps/record-bytes.ts';
import { briefly, size } from '../steps/shown-text.ts';
import { el, keyedList, type Part } from './dom.ts';
import { code } from './message-view.ts';

interface NumberedRecord {
  readonly index: number;
  readonly record: LogRecord;
}

/** Shows the records of a log in the order in which they were written. */
export function recordsView(): Part<readonly LogRecord[]> {
  const list = el('ol', { class: 'steps records' });
  const show = keyedList<NumberedRecord>(list, ({ index }) => String(index), recordRow);
  let shownRecords: readonly LogRecord[] | undefined;
  return {
    node: list,
    update(records) {
      if (records === shownRecords) return;
      shownRecords = records;
      show(records.map((record, index) => ({ index, record })));
    },
  };
}

function recordRow(): Part<NumberedRecord> {
  const node = el('li', {});
  let shownText = '';
  return {
    node,
    update({ index, record }) {
      // Another conversation, or a log that was compacted, has other records at the same places.
      const text = JSON.stringify(record);
      if (text === shownText) return;
      shownText = text;
      node.replaceChildren(detailsOf(index, record));
    },
  };
}

function detailsOf(index: number, record: LogRecord): HTMLElement {
  const body = el('div', { class: 'body' });
  const { kind, text } = wordsOf(record);
  const details = el(
    'details',
    { class: `step ${record.kind}` },
    el(
      'summary',
      {},
      el('span', { class: 'figure number' }, String(index + 1)),
      el(
        'span',
        { class: 'what' },
        el('span', { class: 'name' }, kind),
        el('span', { class: 'about' }, text),
      ),
      el('span', { class: 'figure' }, size(bytesOf(record))),
    ),
    body,
  );
  details.addEventListener('toggle', () => body.append(code(record, 'Record')), { once: true });
  return details;
}

function wordsOf(record: LogRecord): { readonly kind: string; readonly text: string } {
  switch (record.kind) {
    case 'message':
    case 'replace': {
      const { role } = record.message;
      const kind = record.kind === 'message' ? role : `replace ${role}`;
      return { kind, text: briefly(messageWords(record.message)) };
    }
    case 'call-started':
      return { kind: 'tool started', text: record.toolUse?.name ?? record.toolUseId };
    case 'decision':
      return { kind: 'decision', text: record.decision.type };
    case 'suspended':
      return {
        kind: 'suspended',
        text: record.calls.map(({ pending }) => `${pending.name}: ${pending.kind}`).join(', '),
      };
    case 'run-begin':
      return { kind: 'run began', text: record.runId };
    case 'run-end':
      return { kind: 'run ended', text: record.reason };
    case 'summary':
      return { kind: 'summary', text: `of ${record.count} messages: ${briefly(record.text)}` };
    case 'truncate':
      return { kind: 'truncate', text: `${record.ids.length} messages` };
    case 'reply':
      return { kind: 'open reply', text: record.state ? 'the provider still writes' : '' };
    case 'state':
      return { kind: 'state', text: Object.keys(record.state).join(', ') };
  }
}

function messageWords(message: Msg): string {
  const results = toolResultsOf(message).map(({ name, state }) => `${name}: ${state}`);
  const calls = toolUsesOf(message).map(({ name }) => `calls ${name}`);
  return [...results, ...calls, textOf(message)].filter(Boolean).join(', ');
}
