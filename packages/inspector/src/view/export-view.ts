import type { TestFile } from '../steps/test-file.ts';
import { el } from './dom.ts';

/** Shows a written test, with buttons that copy and save it. Without a test, says why. */
export function exportView(file: TestFile | undefined, onClose: () => void): HTMLElement {
  const closeButton = el('button', { type: 'button', onclick: onClose }, 'Close');
  if (!file) {
    const reason = 'The log has no end of this run, so there is nothing to test yet.';
    const actions = el(
      'div',
      { class: 'actions' },
      closeButton,
      el('span', { role: 'status' }, reason),
    );
    return el('section', { class: 'part export', 'aria-label': 'Test' }, actions);
  }
  const { name, source } = file;
  const status = el('span', { class: 'muted', role: 'status' });
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(source);
      status.textContent = 'Copied';
    } catch {
      status.textContent = 'The browser refused. Select the text, then copy it.';
    }
  };
  const save = (): void => {
    const address = URL.createObjectURL(new Blob([source], { type: 'text/typescript' }));
    el('a', { href: address, download: name }).click();
    URL.revokeObjectURL(address);
  };
  return el(
    'section',
    { class: 'part export', 'aria-label': `Test ${name}` },
    el('h3', {}, name),
    el('pre', { tabindex: '0', role: 'region', 'aria-label': 'Source of the test' }, source),
    el(
      'div',
      { class: 'actions' },
      el('button', { type: 'button', onclick: () => void copy() }, 'Copy'),
      el('button', { type: 'button', onclick: save }, 'Save'),
      closeButton,
      status,
    ),
  );
}
