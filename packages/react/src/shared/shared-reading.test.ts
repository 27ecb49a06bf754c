import type { AnswerBatches } from '@isoloop/core/host';
import type { UiChunk, UIMessage } from '@isoloop/core/stream';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AnswerChannel, type AnswerPost } from './answer-channel.ts';
import { takeLock } from './held-lock.ts';
import { SharedReading } from './shared-reading.ts';

const question: UIMessage = { id: 'q', role: 'user', parts: [{ type: 'text', text: 'go' }] };
const chunks: readonly UiChunk[] = [
  { type: 'text-delta', id: 't', delta: 'One ' },
  { type: 'text-delta', id: 't', delta: 'two.' },
];

/** The chunks, each in a batch of its own. */
async function* batchesOf(): AnswerBatches {
  for (const chunk of chunks) yield [chunk];
}

function setHidden(isHidden: boolean): void {
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(isHidden);
  document.dispatchEvent(new Event('visibilitychange'));
  onTestFinished(() => hidden.mockRestore());
}

/** Opens a resumed answer in this tab, with the lock of the reader, and lists what others get. */
async function openReading() {
  const name = crypto.randomUUID();
  const channel = new AnswerChannel({ name, onAnswer: () => {} });
  const otherTab = new BroadcastChannel(name);
  const posts: AnswerPost[] = [];
  otherTab.addEventListener('message', ({ data }) => posts.push(data));
  onTestFinished(() => {
    channel.close();
    otherTab.close();
  });
  const { signal } = new AbortController();
  const opened = { batches: batchesOf(), signal, connection: new AbortController() };
  const release = await takeLock(name, {});
  const reading = new SharedReading(channel, { ...opened, canRejoin: true }, release);
  return { name, reading, posts };
}

test.for([
  ['before the history arrives', 'hide', 'begin'],
  ['after the history has arrived', 'begin', 'hide'],
] as const)(
  'a page that is hidden and shown %s shares the answer to its end',
  async ([, ...steps]) => {
    const { name, reading, posts } = await openReading();
    for (const step of steps) {
      if (step === 'begin') reading.begin([question]);
      else for (const isHidden of [true, false]) setHidden(isHidden);
    }
    const batches: unknown[] = [];
    for await (const batch of reading.pass()) batches.push(batch);
    expect(batches).toEqual(chunks.map((chunk) => [chunk]));
    await expect.poll(() => posts.at(-1)).toMatchObject({ type: 'end', isLost: false });
    const shared = posts.flatMap((post) => ('chunks' in post ? post.chunks : []));
    expect(shared.slice(-2)).toEqual(chunks);
    const freeLock = await takeLock(name, { ifAvailable: true });
    expect(freeLock).toBeDefined();
    freeLock?.();
  },
);
