import type { ScriptedStep } from '@isoloop/core/testing';
import { createElement as h, type ComponentType } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChatEndpoint } from '../../../web-worker/test-support/chat-endpoint.ts';
import { ChatPage as AiSdkPage } from '../../../web-worker/test-support/chat-pages/ai-sdk-page.tsx';
import { ChatPage as IsoloopPage } from '../../../web-worker/test-support/chat-pages/isoloop-page.tsx';

/** The benchmark `pages` compares the size of both. */
const pages = [
  ['isoloop', IsoloopPage],
  ['AI SDK', AiSdkPage],
] as const;

function open(Page: ComponentType<{ readonly id: string }>, endpoint: ChatEndpoint, id: string) {
  const fetches = vi.spyOn(globalThis, 'fetch').mockImplementation(endpoint.fetch);
  const container = document.body.appendChild(document.createElement('div'));
  const root = createRoot(container);
  root.render(h(Page, { id }));
  const close = (): void => {
    root.unmount();
    container.remove();
  };
  onTestFinished(() => {
    close();
    fetches.mockRestore();
  });
  const button = (label: string): HTMLButtonElement | undefined =>
    [...container.querySelectorAll('button')].find(({ textContent }) => textContent === label);
  const click = async (label: string): Promise<void> => {
    await expect.poll(() => button(label)?.disabled).toBe(false);
    button(label)!.click();
  };
  const send = async (text: string, files?: readonly File[]): Promise<void> => {
    await expect.poll(() => container.querySelector('form')).not.toBeNull();
    container.querySelector<HTMLInputElement>('[name=text]')!.value = text;
    const transfer = new DataTransfer();
    for (const file of files ?? []) transfer.items.add(file);
    container.querySelector<HTMLInputElement>('[name=files]')!.files = transfer.files;
    await click('Send');
  };
  return { container, click, send, close, texts: () => container.textContent };
}

const failed: ScriptedStep = { text: 'half', error: new Error('The model is gone.') };

test.for(pages)(
  'the page with %s has files, tools, approvals, retry and edits',
  async ([, Page]) => {
    const asks = { toolCalls: [{ name: 'send', input: { to: 'Bob' } }] };
    const endpoint = new ChatEndpoint([asks, 'Done.', failed, 'Again.', 'Edited.']);
    const page = open(Page, endpoint, crypto.randomUUID());
    await page.send('mail', [new File(['x'], 'a.txt', { type: 'text/plain' })]);
    await expect.poll(page.texts).toContain('send approval-requested');
    expect(page.texts()).toContain('a.txt');
    await page.click('Approve');
    await expect.poll(page.texts).toContain('Done.');
    expect(page.texts()).toContain('send output-available');
    await page.send('fail');
    await page.click('Retry');
    await expect.poll(page.texts).toContain('Again.');
    const edits = page.container.querySelectorAll<HTMLButtonElement>('.edit');
    edits[edits.length - 1]!.click();
    await page.send('better');
    await expect.poll(page.texts).toContain('Edited.');
    expect(page.texts()).not.toContain('Again.');
  },
);

test.for(pages)(
  'the page with %s resumes an answer and stops it at the endpoint',
  async ([, Page]) => {
    const half: ScriptedStep = { text: 'half', hang: true };
    const endpoint = new ChatEndpoint([half]);
    const id = crypto.randomUUID();
    const before = open(Page, endpoint, id);
    await before.send('go');
    await expect.poll(before.texts).toContain('half');
    const page = open(Page, endpoint, id);
    await expect.poll(page.texts).toContain('half');
    await page.click('Stop');
    await expect.poll(() => endpoint.isRunning).toBe(false);
  },
);
