import { useChat } from '@ai-sdk/react';
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  parseJsonEventStream,
  uiMessageChunkSchema,
  type UIMessage,
} from 'ai';
import { useEffect } from 'react';
import { createRoot } from 'react-dom/client';

declare global {
  interface Window {
    /** Latest return value of `useChat`. */
    chat: ReturnType<typeof useChat>;
    /** Path and body of each request, and the status of its response. */
    requests: { path: string; body: unknown; status: number }[];
    /** Result of AI SDK's own reader for each chunk: the type of the chunk, or the error. */
    chunks: string[];
    invalid: string[];
  }
}

window.requests = [];
window.chunks = [];
window.invalid = [];

/** Records each request and reads a copy of each response. The page gets the original bytes. */
const { fetch } = window;
window.fetch = async (input, init) => {
  const response = await fetch(input, init);
  const path = new URL(response.url).pathname;
  window.requests.push({
    path,
    body: typeof init?.body === 'string' ? JSON.parse(init.body) : undefined,
    status: response.status,
  });
  if (response.headers.get('content-type') !== 'text/event-stream') return response;
  const [read, kept] = response.body!.tee();
  const [parsed, raw] = kept.tee();
  void check(parsed).catch(() => {});
  void countComments(raw).catch(() => {});
  return new Response(read, response);
};

async function check(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const reader = parseJsonEventStream({ stream, schema: uiMessageChunkSchema }).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (read.value.success) window.chunks.push(read.value.value.type);
    else window.invalid.push(read.value.error.message);
  }
}

async function countComments(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (read.value.startsWith(': keep-alive')) window.chunks.push('(comment)');
  }
}

const query = new URLSearchParams(location.search);
const id = query.get('id')!;
const api = `${query.get('at')}/api/chat`;
// Loads a conversation only after it exists, as the README recommends.
const messages = sessionStorage.getItem(id) ? await history() : [];
sessionStorage.setItem(id, 'begun');

async function history(): Promise<UIMessage[]> {
  const response = await fetch(`${api}/${id}/messages`);
  return ((await response.json()) as { messages: UIMessage[] }).messages;
}

function Chat() {
  const chat = useChat({
    id,
    messages,
    resume: messages.length > 0,
    transport: new DefaultChatTransport({ api }),
    sendAutomaticallyWhen: (at) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(at) ||
      lastAssistantMessageIsCompleteWithToolCalls(at),
  });
  useEffect(() => void (window.chat = chat));
  return (
    <>
      <output>{chat.status}</output>
      <p role="alert">{chat.error?.message}</p>
      <ol>
        {chat.messages.map((message) => (
          <li key={message.id}>
            {[message.role, ...message.parts.map(told).filter(Boolean)].join(' | ')}
          </li>
        ))}
      </ol>
    </>
  );
}

function told(part: UIMessage['parts'][number]): string {
  if (part.type === 'text') return part.text.trim();
  if (part.type === 'reasoning') return `(${part.text})`;
  if (part.type !== 'dynamic-tool') return '';
  const said =
    part.state === 'output-available'
      ? ` ${JSON.stringify(part.output)}`
      : part.state === 'output-error'
        ? ` “${part.errorText}”`
        : part.state === 'output-denied'
          ? ` “${part.approval.reason}”`
          : '';
  return `${part.toolName} ${JSON.stringify(part.input)} ${part.state}${said}`;
}

createRoot(document.querySelector('#root')!).render(<Chat />);
