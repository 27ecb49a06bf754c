import { context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect, test } from 'vitest';
import { AgentError } from '../error/agent-error.ts';
import type { Middleware } from '../agent/middleware.ts';
import type { ScriptedReply } from '../testing/scripted-model.ts';
import { tool } from '../tool/tool.ts';
import { scriptedAgent } from '@test/support/scripted-agent.ts';
import { jsonlTrace } from '../observe/jsonl-trace.ts';
import { metrics } from '../observe/metrics.ts';
import { openTelemetry } from '../open-telemetry/open-telemetry.ts';

const keys = ['k9x2f7q', '9f3a4b1c-8d2e-4f00-9abc-1234567890ab', 'sk_live_51Habc9'];

interface Recorder {
  readonly middleware: Middleware;
  readonly text: () => Promise<string>;
}

function jsonl(): Recorder {
  const decoder = new TextDecoder();
  let text = '';
  const sink = new WritableStream<Uint8Array>({
    write: (chunk) => void (text += decoder.decode(chunk, { stream: true })),
  });
  const middleware = jsonlTrace(sink, { includeRequests: true });
  return { middleware, text: () => middleware.close().then(() => text) };
}

function spans(): Recorder {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer('test');
  return {
    middleware: openTelemetry({ api: { trace, context }, tracer, content: true }),
    text: async () =>
      JSON.stringify(
        exporter
          .getFinishedSpans()
          .map(({ attributes, status, events }) => ({ attributes, status, events })),
      ),
  };
}

function measured(): Recorder {
  const metric: unknown[] = [];
  const note = (...told: readonly unknown[]): void => void metric.push(told);
  return {
    middleware: metrics({ agentCall: note, modelRequest: note, toolCall: note }),
    text: async () => JSON.stringify(metric),
  };
}

/** Runs an agent whose tool and whose model fail with a text. */
async function recorded(words: string, { middleware, text }: Recorder): Promise<string> {
  const failing = tool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => {
      throw new Error(words);
    },
  });
  const error = new AgentError('MODEL_AUTH', words, { details: { words } });
  const replies: readonly ScriptedReply[] = [
    { toolCalls: [{ name: 'look', input: {} }] },
    { error },
  ];
  const { agent } = scriptedAgent(replies, { tools: [failing], use: [middleware] });
  await agent.call('go', { throwOnError: false });
  return text();
}

test.each([
  ['jsonlTrace()', jsonl, /API key provided: \*\*\*/],
  ['openTelemetry()', spans, /API key provided: \*\*\*/],
  ['metrics()', measured, /MODEL_AUTH/],
] as const)('%s shows no key of a failed tool or model', async (_name, open, expected) => {
  for (const key of keys) {
    const text = await recorded(`Incorrect API key provided: ${key}`, open());
    expect(text).toMatch(expected);
    expect(text).not.toContain(key);
  }
});
