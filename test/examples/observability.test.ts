import { context, context as otelContext, trace, trace as otelTrace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { expect, test, vi } from 'vitest';
import './strict-assert.ts';
import { ScriptedModel } from '@isoloop/core/testing';
// #region metrics
import { ReActAgent } from '@isoloop/core';
import { piiRule, outputGuards } from '@isoloop/guards';
import { circuitBreaker, retry } from '@isoloop/core/resilience';
import { jsonlTrace, metrics, type Metrics } from '@isoloop/core/observe';
// #endregion
// #region trace
// #endregion
// #region add-secrets
import { addSecrets, maskSecrets } from '@isoloop/core/error';
// #endregion
// #region open-telemetry
import { openTelemetry } from '@isoloop/core/open-telemetry';
// #endregion

test('metrics() reports calls, requests, tools and tokens', async () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const model = new ScriptedModel(['Write to ann@example.com.']);

  // #region metrics
  const recorder: Metrics = {
    agentCall: ({ agent, userId, reason, durationMs }) =>
      console.log(agent, userId, reason, durationMs),
    modelRequest: ({ modelId, outcome, durationMs, firstDeltaMs }) =>
      console.log(modelId, outcome, durationMs, firstDeltaMs),
    toolCall: ({ name, outcome, durationMs }) => console.log(name, outcome, durationMs),
    tokenUsage: ({ inputTokens, outputTokens }, { sessionId }) =>
      console.log(sessionId, inputTokens, outputTokens),
  };
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    userId: 'ann', // in every event
    use: [
      metrics(recorder),
      outputGuards([piiRule()], { onAction: ({ rule, action }) => console.log(rule, action) }),
      circuitBreaker(),
      retry({ onRetry: ({ attempt, error }) => console.log(attempt, error.code) }),
    ],
  });
  await agent.call('Hi');
  // #endregion

  expect(log.mock.calls.map(([first]) => first)).toEqual([
    'piiRule',
    'scripted',
    'assistant',
    agent.sessionId,
  ]);
  log.mockRestore();
});

test('jsonlTrace() writes every event as a line', async () => {
  const model = new ScriptedModel(['Hello.']);
  let written = '';
  const decoder = new TextDecoder();
  const sink = new WritableStream<Uint8Array>({
    write: (chunk) => void (written += decoder.decode(chunk)),
  });

  // #region trace
  const traced = jsonlTrace(sink); // any WritableStream of bytes: a file, a response, a compression stream
  const agent = new ReActAgent({ name: 'assistant', model, use: [traced] });
  await agent.call('Hi');
  await traced.settled(); // call this before a shutdown
  // #endregion

  expect(
    written
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type),
  ).toContain('run-end');
});

test('addSecrets() masks a value in texts for logs', () => {
  const log = vi.spyOn(console, 'log').mockReturnValue();
  const apiKey = 'plain words of a key';
  const password = 'correct horse battery';

  // #region add-secrets
  addSecrets([apiKey, password]); // once, when the process starts

  console.log(maskSecrets(`Log in with ${password}.`)); // Log in with ***.
  // #endregion

  expect(log).toHaveBeenCalledWith('Log in with ***.');
  log.mockRestore();
});

test('openTelemetry() creates spans', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  otelTrace.setGlobalTracerProvider(provider);
  const model = new ScriptedModel(['Hello.']);

  // #region open-telemetry
  const agent = new ReActAgent({
    name: 'assistant',
    model,
    use: [openTelemetry({ api: { context, trace } })],
  });
  await agent.call('Hi');
  // #endregion

  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual([
    'chat scripted',
    'invoke_agent assistant',
  ]);
  otelTrace.disable();
  otelContext.disable();
});
